#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Unmounted by another process, the daemon ends with status 0; with files open and -l, it goes on
# until the last is closed.
# builds: tsan debug
. "$(dirname "$0")/../lib.sh"
take_away () {
    if [ "$(id -u)" = 0 ]; then umount "$@" "$MNT"; else fusermount3 -u ${1:+-z} "$MNT"; fi
}
# The daemon has finished its work after mounting, so that it logs nothing about a mount that is
# gone.
is_ready () {
    "$WINDLASS" counts "$MNT" >/dev/null 2>&1
}

stack
"$WINDLASS" -N -f "$VOL" -l "$LOG" "$MNT" &
DAEMON=$!
wait_until is_ready
echo text >"$MNT/file"
take_away || fail "can't unmount"
wait $DAEMON
expect "the exit status" 0 $?

"$WINDLASS" -N -f "$VOL" -l "$LOG" "$MNT" &
DAEMON=$!
wait_until is_ready
exec 7<>"$MNT/file"
expect_error busy take_away
take_away -l || fail "can't unmount lazily"
! is_mounted || fail "it is still there"
expect "what is read afterwards" text "$(cat <&7)"
echo more >&7 || fail "can't write afterwards"
is_running $DAEMON || fail "the daemon is gone too early"
exec 7>&-
wait $DAEMON
expect "the exit status afterwards" 0 $?
expect "what was written" "text more" "$(paste -sd' ' "$BACK/file")"
expect_no_match "the log" ' [CEW] \[' "$(cat "$LOG")"
DAEMON=''
