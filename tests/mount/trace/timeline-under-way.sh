#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Requests that are under way when a timeline begins or ends are marked as such, and a mount that
# hangs prevents neither.
. "$(dirname "$0")/../lib.sh"
timeline () {
    "$WINDLASS" timeline "$@"
}
held () {
    "$WINDLASS" inflight "$MNT" | grep -c 'waits for: the end of a delay'
}
echo content >"$BACK/file"

# One hangs while it begins and ends: it stays out. One begins meanwhile.
stack debug/delay-gen,delay-percentage=100%,delay-duration=3600000000,enable=readv
mount_volfile "$VOL"
cat "$MNT/file" >/dev/null &
first=$!
wait_until '[ "$(held)" = 1 ]'
expect_ok timeline start "$MNT"
dd if="$MNT/file" iflag=direct of=/dev/null bs=4096 status=none &
second=$!
wait_until '[ "$(held)" = 2 ]'
said=$(timeline stop "$MNT" -o out.json 2>&1) || fail "$said"
expect_match "what stop says" '^[0-9]+ requests, 1 are still under way$' "$said"
text=$(timeline cat "$MNT")
expect "one read" 1 "$(grep -c ': readv /file' <<<"$text")"
expect_match "it isn't over" 'delay-gen-1: readv: not answered when the recording ended$' "$text"
expect_match "in the picture too" \
    '"name":"delay-gen-1: readv".*"note":"not answered when the recording ended"' "$(cat out.json)"
kill "$DAEMON"
wait_until "! is_running $DAEMON"
DAEMON=''
wait $first $second

# One is held back at the beginning, and goes on meanwhile: what is seen of it is shown.
mount_volfile "$VOL" --xlator-option delay-gen-1.delay-duration=5000000
cat "$MNT/file" >/dev/null &
first=$!
wait_until '[ "$(held)" = 1 ]'
expect_ok timeline start "$MNT"
wait $first
said=$(timeline stop "$MNT" -o out.json 2>&1) || fail "$said"
expect_match "what stop says" '^[0-9]+ requests, 1 were under way at the start$' "$said"
text=$(timeline cat "$MNT")
expect_match "which" '^request [0-9]+: readv .*, was under way when the recording began$' "$text"
expect_match "what was seen" 'posix: readv = 8$' "$text"
expect_match "folded" '^\(under way\);posix:readv ' "$(timeline cat "$MNT" --folded)"
unmount
