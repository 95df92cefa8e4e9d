#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's own daemon has one trash, the user's: rm -r makes an entry, which comes back; a kill
# leaves all to the next daemon, and a second one beside it keeps what it removes, too.
. "$(dirname "$0")/lib.sh"
need_fuse
drop_root

# paths: the former paths of all entries.
paths () {
    cat "$BACK/.Trash-$(id -u)"/info/*.trashinfo 2>/dev/null | sed -n 's/^Path=//p' | sort | xargs
}

stack features/trash,settle=1h,keep=deleted+overwritten
sed -i 's/deleted+/deleted,/' "$VOL"
mount_volfile "$VOL"
mkdir -p "$MNT/tree/below"
echo text >"$MNT/tree/below/file"
chmod 750 "$MNT/tree/below"
rm -r "$MNT/tree"
asked
expect "an entry" tree "$(paths)"
expect "the modes" "700 750" "$(stat -c %a "$BACK/.Trash-$(id -u)" "$BACK/.Trash-$(id -u)/files/tree/below" | xargs)"
expect_ok "$WINDLASS" trash restore "$MNT" tree
expect "it is back" text "$(cat "$MNT/tree/below/file")"
expect "no entry" "" "$(paths)"

# A second daemon, a move to another graph, and a rename over a file.
mkdir "$TEST_DIR/other"
"$WINDLASS" -f "$VOL" -l "$LOG.other" "$TEST_DIR/other" || fail "no second mount"
for name in one two old new; do echo $name >"$MNT/$name"; done
rm "$MNT/one" &
rm "$TEST_DIR/other/two" || fail "not removed"
wait $! || fail "not removed"
sed -i 's/settle "1h"/settle "60ms"/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
python3 -c 'import os, sys; os.rename (sys.argv[1], sys.argv[2])' "$MNT/new" "$MNT/old"
expect_ok "$WINDLASS" umount "$TEST_DIR/other"
settled
expect "of both" "old one two" "$(paths)"
expect "what was replaced" old "$(cat "$BACK/.Trash-$(id -u)/files/old")"

# A kill.
unmount
sed -i 's/settle "60ms"/settle "60s"/' "$VOL"
mount_volfile "$VOL"
rm -r "$MNT/tree"
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
fusermount3 -u -z "$MNT"
rm -f "$TEST_DIR/pid"
mount_volfile "$VOL"
settled
expect "after a kill" "old one tree two" "$(paths)"
unmount
expect "stages" "" "$(find "$BACK" -path "*/.windlass-trash*")"
