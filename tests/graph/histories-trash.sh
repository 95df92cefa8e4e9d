#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over features/trash: names, files and errors are those without it, but a removed
# file that is open has a link.
# longer
. "$(dirname "$0")/../mount/lib.sh"
need_root

for keep in deleted deleted,overwritten deleted,truncated; do
    cat >"$TEST_DIR/trash.vol" <<EOF2
volume posix
    type storage/posix
    option directory /nowhere
end-volume
volume trash
    type features/trash
    option keep $keep
    option copy on
    option temporaries $([ $keep = deleted ] && echo 1m || echo 0)
    subvolumes posix
end-volume
EOF2
    "$WINDLASS" conform trash.vol --case history --seed 1 --histories "$(amount 20 200)" ||
        fail "keep $keep does not pass"
    "$WINDLASS" conform trash.vol --case history --seed 2 --histories "$(amount 20 200)" --faults 50 ||
        fail "keep $keep does not pass with errors"
done

# A link(2) that overtakes the removal of the file: the file in the trash has a link, so it gets
# another name.
for seed in {1..8}; do
    printf '%s\n' "seed $seed" 'clients 2' '1 c1 create f0 a rw 0644 calm' '2 c2 link a b' \
        '3 c1 unlink a' '4 c1 fstat f0' '5 c1 stat b' >overtakes
    "$WINDLASS" conform trash.vol --case history --history overtakes -d "$TEST_DIR" ||
        fail "a link that overtakes a removal does not pass with seed $seed"
done

cat >"$TEST_DIR/trash.vol" <<EOF2
volume posix
    type storage/posix
    option directory /nowhere
end-volume
volume trash
    type features/trash
    option layout gluster
    option trash on
    subvolumes posix
end-volume
EOF2
for faults in 0 50; do
    "$WINDLASS" conform trash.vol --case history --seed 3 --histories "$(amount 20 200)" \
        --faults $faults || fail "layout gluster does not pass with $faults errors"
done
