#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files are removed while the mount moves to other graphs: each is in the trash once. A move does not
# wait for entries: the next graph makes them.
# longer
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

stack features/trash,settle=50ms
cp "$VOL" short.vol
stack features/trash,settle=50ms debug/trace
cp "$VOL" long.vol
cp short.vol "$VOL"
mount_volfile "$VOL"
mkdir "$MNT"/dir{0,1,2,3}

python3 - "$MNT" "$TEST_DIR/over" <<'EOF2' &
import os, sys
root, over = sys.argv[1:]
made = 0
while not os.path.exists(over) or made % 100:
    path = f'{root}/dir{made % 4}/file{made}'
    with open(path, 'w') as f:
        f.write(f'{made}\n')
    if os.fork() == 0: # another process: what a process makes and removes itself is temporary
        os.unlink(path)
        os._exit(0)
    if os.wait()[1]:
        sys.exit(f'{path} was not removed')
    made += 1
print(made, file=open(over + '.made', 'w'))
EOF2
load=$!
for ((i = 0; i < $(amount 10 50); i++)); do
    cp long.vol "$VOL"
    expect_ok "$WINDLASS" reload "$MNT"
    cp short.vol "$VOL"
    expect_ok "$WINDLASS" reload "$MNT"
done
touch over
wait $load || fail "the load failed"
settled
unmount
made=$(cat over.made)
expect "entries" "$made" "$(ls "$BACK/.Trash-0/info" | wc -l)"
expect "files" "$made" "$(cat "$BACK"/.Trash-0/files/* | sort -n | uniq | wc -l)"
[ ! -e "$BACK/.windlass-trash" ] || fail "a stage is left: $(find "$BACK/.windlass-trash")"

# The old graph would take half a minute and more, since each information file takes half a second.
slow=debug/delay-gen,delay-percentage=100%,enable=create,delay-duration
stack $slow=500000 features/trash,settle=60
mount_volfile "$VOL"
mkdir "$MNT/slow"
(cd "$BACK/slow" && seq 100 | xargs touch)
rm "$MNT"/slow/*
stack $slow=1 features/trash,settle=60 debug/trace
expect_ok timeout 10 "$WINDLASS" reload "$MNT"
wait_until '[ "$(ls "$BACK/.Trash-0/info" | wc -l)" = '$((made + 100))' ]'
unmount
[ ! -e "$BACK/.windlass-trash" ] || fail "a stage is left: $(find "$BACK/.windlass-trash")"

# The trash of the next graph is off: the old graph makes the entries before it ends.
stack features/trash,settle=60
mount_volfile "$VOL"
touch "$MNT/left"
rm "$MNT/left"
stack features/trash,settle=60,trash=off debug/trace
expect_ok "$WINDLASS" reload "$MNT"
wait_until '[ -e "$BACK/.Trash-0/files/left" ]'
unmount
[ ! -e "$BACK/.windlass-trash" ] || fail "a stage is left: $(find "$BACK/.windlass-trash")"
