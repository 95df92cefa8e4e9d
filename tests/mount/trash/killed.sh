#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A killed daemon leaves removed files in the stage. The next one makes entries of them, with their
# paths and with who removed them; the stage of a daemon that lives it leaves alone.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

stack features/trash,settle=60s
mount_volfile "$VOL"
mkdir -p "$MNT/a dir/below"
echo one >"$MNT/a dir/file"
echo two >"$MNT/a dir/below/file"
echo three >"$MNT/top"
rm "$MNT/top" "$MNT/a dir/file"
rm -r "$MNT/a dir/below"
expect "before the kill" "" "$(entries)"
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
umount -l "$MNT"
rm -f "$TEST_DIR/pid"
mount_volfile "$VOL"
settled
wait_until '[ ! -e "$BACK/.windlass-trash" ]' # by a job
expect "entries" "a%20dir/below a%20dir/file top" "$(entries)"
expect "a file" two "$(cat "$MNT/.Trash-0/files/below/file")"
expect "who" "X-Windlass-Program=rm" "$(grep -h Program "$MNT/.Trash-0/info/top.trashinfo")"

# Another daemon over the same directory.
echo four >"$MNT/four"
rm "$MNT/four"
mkdir "$TEST_DIR/other"
"$WINDLASS" -f "$VOL" -l "$LOG.other" "$TEST_DIR/other" || fail "no second mount"
echo five >"$TEST_DIR/other/five"
rm "$TEST_DIR/other/five"
"$WINDLASS" umount "$TEST_DIR/other" || fail "the second mount does not end"
expect "of the second daemon" "a%20dir/below a%20dir/file five top" "$(entries)"
unmount
expect "at the end" "a%20dir/below a%20dir/file five four top" \
    "$(sed -n 's/^Path=//p' "$BACK/.Trash-0"/info/* | sort | xargs)"
