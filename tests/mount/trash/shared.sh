#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Two daemons over one directory: names of one file that both remove at a time, of which the last is
# kept; their first and last removals at a time, when both make and remove the same folders.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command python3

stack features/trash,settle=50ms
mount_volfile "$VOL"
mkdir "$TEST_DIR/other"

# other_mounts, other_ends: the second daemon, which takes up and leaves the folders of stages.
other_mounts () {
    "$WINDLASS" -f "$VOL" -l "$LOG.other" "$TEST_DIR/other" || fail "no second mount"
}
other_ends () {
    "$WINDLASS" umount "$TEST_DIR/other" || fail "the second mount does not end"
}

other_mounts
python3 - "$MNT" "$TEST_DIR/other" <<'END' || fail "the removals failed"
import os, sys
one, other = sys.argv[1:]
names = [str(i) for i in range(300)]
os.mkdir(f"{one}/a")
os.mkdir(f"{one}/b")
for name in names:
    with open(f"{one}/a/{name}", "w") as f:
        f.write(f"text {name}\n")
    os.link(f"{one}/a/{name}", f"{one}/b/{name}")
children = []
for place in f"{one}/a", f"{other}/b":
    child = os.fork()
    if child == 0:
        for name in names:
            os.unlink(f"{place}/{name}")
        os._exit(0)
    children.append(child)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
END
settled
expect "texts" 300 "$(cat "$BACK/.Trash-0"/files/* | sort -u | grep -c text)"
other_ends

# Each round begins without folders.
rm -rf "$BACK/.Trash-0"
for i in {1..10}; do
    other_mounts
    touch "$MNT/mine$i" "$TEST_DIR/other/theirs$i"
    rm "$MNT/mine$i" &
    rm "$TEST_DIR/other/theirs$i" || fail "not removed"
    wait $! || fail "not removed"
    other_ends
    settled
    expect "explain" "" "$("$WINDLASS" explain "$MNT" | grep "for good")"
    expect "round $i" $((2 * i)) "$(ls "$BACK/.Trash-0/files" | wc -l)"
done
unmount
[ ! -e "$BACK/.windlass-trash" ] || fail "a stage is left: $(find "$BACK/.windlass-trash")"
