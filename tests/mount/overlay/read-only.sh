#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A view that is mounted read-only makes and changes nothing: neither in the folder of the changes,
# nor in the lower.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_fuse
mkdir -p "$UPPER" "$BACK/dir" "$BACK/again"
echo one >"$BACK/file"
echo two >"$BACK/dir/second"
ln "$BACK/dir/second" "$BACK/dir/third"
echo old >"$BACK/again/old"
overlay_volfile

# state: all names of the folder, with what changes if somebody writes.
state () {
    find "$UPPER" -printf '%P %y %m %s %T@ %C@ %n\n' | sort
}
mount_read_only () {
    state >state
    mount_volfile "$VOL" -o ro
}
# unmount_unchanged WHAT
unmount_unchanged () {
    unmount
    state | diff state - || fail "$1: the folder has changed"
}

mount_read_only
expect "the lower" "one two two" "$(cat "$MNT/file" "$MNT/dir/second" "$MNT/dir/third" | xargs)"
expect_error "Read-only file system" bash -c "echo more >>'$MNT/file'"
expect_ok stat -f "$MNT"
expect "no changes" "" "$(changes)"
expect_match "the status" "0 added, 0 changed, 0 removed" "$(overlay status "$MNT")"
expect_ok "$WINDLASS" reload "$MNT"
expect "a listing after a reload" "again dir file" "$(ls "$MNT" | xargs)"
unmount_unchanged "a view without an upper"

mount_volfile "$VOL"
echo more >>"$MNT/file"
echo more >>"$MNT/dir/second"
rm -r "$MNT/again"
mkdir "$MNT/again"
unmount
mount_read_only
expect "a change" "one more" "$(xargs <"$MNT/file")"
expect "an opaque directory" "" "$(ls "$MNT/again")"
expect "the other name of a changed file" "two more" "$(xargs <"$MNT/dir/third")"
expect "the changes" "D.again/old M.dir/second M.file" "$(changes | tr '\t' . | xargs)"
mkdir other
expect_error "is in use by" "$WINDLASS" -f "$VOL" -l other.log "$TEST_DIR/other"
expect_ok "$WINDLASS" reload "$MNT"
expect "the other name after a reload" "two more" "$(xargs <"$MNT/dir/third")"
unmount_unchanged "a view with changes"

# The same of a read-only file system, which has no locks to take.
mount --bind "$UPPER" "$UPPER"
mount -o remount,bind,ro "$UPPER"
mount_read_only
expect "a change" "one more" "$(xargs <"$MNT/file")"
expect "an opaque directory" "" "$(ls "$MNT/again")"
unmount_unchanged "a read-only folder"
umount "$UPPER"
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
