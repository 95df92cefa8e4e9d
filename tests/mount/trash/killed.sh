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

# A mount that is read-only changes nothing: neither does it make entries of that, nor remove some
# for a limit.
mkdir -p "$BACK/.Trash-0"/{info,files}
printf '[Trash Info]\nPath=old\nDeletionDate=2001-01-01T00:00:00\n' >"$BACK/.Trash-0/info/old.trashinfo"
echo old >"$BACK/.Trash-0/files/old"
touch -d 2001-01-01 "$BACK/.Trash-0"/*/old*
find "$BACK" -printf '%P %T@ %C@\n' | sort >before
sed 's/option settle.*/&\n    option max-age 1d/' "$VOL" >limited.vol
cp limited.vol read-only.vol
mount_volfile read-only.vol -o ro
ls -R "$MNT" >/dev/null
sed -i 's/max-age 1d/max-age 2d/' read-only.vol
expect_ok "$WINDLASS" reload "$MNT"
wait_until '[ -z "$("$WINDLASS" jobs list "$MNT")" ]'
unmount
find "$BACK" -printf '%P %T@ %C@\n' | sort >after
expect "after a read-only mount" "$(cat before)" "$(cat after)"
rm -r "$BACK/.Trash-0"

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
