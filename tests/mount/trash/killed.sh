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
mkdir "$MNT/d"
echo moved >"$MNT/d/moved"
mover=$(bash -c 'echo $$; exec rm "$1"' bash "$MNT/d/moved")
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

# A daemon that ended has made this information file for the entry, which had another ctime then. The
# file of another process stays as it is.
leave_info () { # NAME PID
    printf '[Trash Info]\nPath=%s\nDeletionDate=2001-01-01T00:00:00\nX-Windlass-Uid=0\n' "$1"
    printf 'X-Windlass-Pid=%s\nX-Windlass-Program=rm\n' "$2"
}
mkdir -m 700 -p "$BACK/.Trash-0"/{,info,files}
leave_info d/moved "$mover" >"$BACK/.Trash-0/info/moved.trashinfo"
leave_info top 1 >"$BACK/.Trash-0/info/top.trashinfo"

mount_volfile "$VOL"
settled
wait_until '[ ! -e "$BACK/.windlass-trash" ]' # by a job
expect "what others left" "$(leave_info top 1)" "$(cat "$BACK/.Trash-0/info/top.trashinfo")"
mv "$BACK/.Trash-0/info/top.2.trashinfo" "$BACK/.Trash-0/info/top.trashinfo"
mv "$BACK/.Trash-0/files/top.2" "$BACK/.Trash-0/files/top"
expect "entries" "a%20dir/below a%20dir/file d/moved top" "$(entries)"
expect "the file of an information file" moved "$(cat "$MNT/.Trash-0/files/moved")"
expect "the date that it had" "" "$(grep =2001 "$BACK/.Trash-0/info/moved.trashinfo")"
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
expect "of the second daemon" "a%20dir/below a%20dir/file d/moved five top" "$(entries)"
unmount
expect "at the end" "a%20dir/below a%20dir/file d/moved five four top" \
    "$(sed -n 's/^Path=//p' "$BACK/.Trash-0"/info/* | sort | xargs)"
