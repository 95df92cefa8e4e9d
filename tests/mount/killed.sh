#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A daemon that was killed leaves a mount point that answers nothing; it can be mounted again without more ado.
# builds: debug release asan
. "$(dirname "$0")/lib.sh"

stack
mount_volfile "$VOL"
echo before >"$MNT/file"
exec 7<"$MNT/file"
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
# Who asks while the kernel notices gets the other one.
expect_error 'not connected|connection abort' ls "$MNT"
expect_error 'not connected|connection abort' cat <&7
rm -f "$TEST_DIR/pid"

out=$("$WINDLASS" -f "$VOL" -l "$LOG" -p "$TEST_DIR/pid" "$MNT" 2>&1) || fail "it can't be mounted again: $out"
DAEMON=$(cat pid)
expect_match "what is said" "notice: '$MNT' was still mounted .*, but its daemon is gone; it was unmounted" "$out"
expect "what is read" before "$(cat "$MNT/file")"
expect "one mount" 1 "$(grep -c " $MNT " /proc/self/mountinfo)"
exec 7<&-
unmount
