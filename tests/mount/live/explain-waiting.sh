#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass explain tells what write-behind does with a file, and tells the callers that wait for its
# writes; and what debug/trace and debug/io-stats do.
# builds: tsan debug
. "$(dirname "$0")/../lib.sh"

# part VOLUME: what is said of it in $said.
part () {
    awk -v want="$1 (" '/^[^ ]/ { on = index ($0, want) == 1 } on' <<<"$said"
}

stack debug/fault "performance/write-behind,window-size=512KB,flush-behind=on" debug/trace \
    debug/io-stats
mount_volfile "$VOL" --entry-timeout=3600 # so that nobody has to look the name up while writes hang
echo hello >"$MNT/file"
said=$("$WINDLASS" explain "$MNT/file")
expect_match "the window" \
    'answers writes to it before they are done, until 512.* wait \(cache-size\).*128.*\(aggregate-size\)' \
    "$(part write-behind-2)"
expect_match "a close" \
    'a close waits until they are done, and tells of their errors; .* afterwards \(flush-behind\)' \
    "$(part write-behind-2)"
expect_no_match "nothing waits" 'not done$' "$(part write-behind-2)"
expect_match "the trace" 'remembers what is done with it \(log-history\)|logs what is done' \
    "$(part trace-3)"
expect_match "the statistics" 'what is done with it \(count-fop-hits\)' "$(part io-stats-4)"

echo 'writev -> hang' >rules
expect_ok "$WINDLASS" fault "$MNT" rules
echo more >>"$MNT/file" & # it waits in close
wait_until '"$WINDLASS" inflight "$MNT" | grep -q flush'
stat "$MNT/file" >stat.out 2>&1 &
wait_until '[ "$("$WINDLASS" inflight "$MNT" |
    grep -c "writes to the file that were answered before")" -ge 2 ]'
said=$("$WINDLASS" inflight "$MNT")
expect_match "the rule" 'writev -> hang' "$said"
expect_match "how much waits" '1 writes to it, 5 bytes, are answered and not done' \
    "$("$WINDLASS" explain "$MNT/file")"
expect_ok "$WINDLASS" fault "$MNT" --release
wait
expect "what was written" "hello more" "$(paste -sd' ' <"$MNT/file")"
