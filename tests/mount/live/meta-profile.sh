#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# .meta/measure_latency turns measuring on, and each translator's profile shows the times in
# GlusterFS's words; reading it changes nothing. A translator's history is a file as well.
. "$(dirname "$0")/../lib.sh"
stack debug/trace encryption/rot-13
mount_volfile "$VOL"
M=$MNT/.meta
graph=$M/graphs/active

# count VOLUME: how many writes were measured.
count () {
    sed -n "s/^$1\.latency\.WRITE = AVG:[0-9]*\.[0-9]* CNT:\([0-9]*\) TOTAL:[0-9]* MIN:[0-9]* MAX:[0-9]*$/\1/p" \
        "$graph/$1/profile"
}

echo text >>"$MNT/file"
expect "before it is measured" "" "$(cat "$graph"/{rot-13-2,posix}/profile)"
echo 1 >"$M/measure_latency"
for _ in 1 2 3; do echo text >>"$MNT/file"; done
expect "writes" "3 3" "$(count rot-13-2) $(count posix)"
expect "read once more" "3 3" "$(count rot-13-2) $(count posix)"
expect "average, least and most" 1 \
    "$(awk -F'[: ]' \
    '/WRITE/ { print ($4 * $6 >= $8 - 1 && $4 * $6 <= $8 + 1 && $10 <= $4 && $4 <= $12) }' \
    "$graph/posix/profile")"
expect_match "other operations" '^posix\.latency\.OPEN = AVG:' "$(cat "$graph/posix/profile")"
echo 0 >"$M/measure_latency"
echo text >>"$MNT/file"
expect "when it isn't measured any more" "3 3" "$(count rot-13-2) $(count posix)"
echo on >"$M/measure_latency"
echo text >>"$MNT/file"
expect "again" "4 4" "$(count rot-13-2) $(count posix)"

# What a translator remembers of the past, as it tells it elsewhere.
expect_match "the history" 'trace_writev: ' "$(cat "$graph/trace-1/history")"
expect "the same by the socket" "$("$WINDLASS" tell "$MNT" trace-1 history | grep -c writev)" \
    "$(grep -c writev "$graph/trace-1/history")"
unmount
