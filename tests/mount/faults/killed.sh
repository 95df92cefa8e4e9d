#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A killed daemon leaves a mount point that answers nothing; mounting again works without further
# steps.
# builds: debug
. "$(dirname "$0")/../lib.sh"

stack
mount_volfile "$VOL"
echo before >"$MNT/file"
exec 7<"$MNT/file"
cd "$MNT" || fail "can't enter the mount" # whose name is "." here, and stays it
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
expect_error "$DAEMON_GONE" ls "$MNT"
expect_error "$DAEMON_GONE" cat <&7
rm -f "$TEST_DIR/pid"

out=$("$WINDLASS" -f "$VOL" -l "$LOG" -p "$TEST_DIR/pid" . 2>&1) ||
    fail "it can't be mounted again: $out"
cd "$TEST_DIR" || fail "can't leave the mount"
DAEMON=$(cat pid)
expect_match "what is said" \
    "notice: '$MNT' was still mounted .*, but its daemon is gone; it was unmounted" "$out"
expect "what is read" before "$(cat "$MNT/file")"
expect "one mount" 1 "$(grep -c " $MNT " /proc/self/mountinfo)"
exec 7<&-
unmount

# Also by who asks for the mount while the daemon dies, and is told of an abort.
stack debug/fault
mount_volfile "$VOL"
expect_ok "$WINDLASS" fault "$MNT" - <<<'statfs -> hang'
(cd / && exec "$WINDLASS" -f "$VOL" -l "$LOG" -p "$TEST_DIR/pid" "$MNT") >again 2>&1 &
wait_until '[ "$("$WINDLASS" counts "$MNT" | sed -n "s/^requests=//p")" = 1 ]'
kill -9 "$DAEMON"
wait $! || fail "it can't be mounted while its daemon ends: $(cat again)"
DAEMON=$(cat pid)
expect_match "what is said" \
    "notice: '$MNT' was still mounted .*, but its daemon is gone; it was unmounted" "$(cat again)"
expect "what is read" before "$(cat "$MNT/file")"
unmount
