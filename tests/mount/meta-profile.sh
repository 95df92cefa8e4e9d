#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# builds: debug release
# .meta/measure_latency has times measured, which each translator's profile shows in GlusterFS's words; to read it changes nothing.
. "$(dirname "$0")/lib.sh"
stack encryption/rot-13
mount_volfile "$VOL"
M=$MNT/.meta
graph=$M/graphs/active

# count VOLUME: how many writes were measured.
count () {
    sed -n "s/^$1\.latency\.WRITE = AVG:[0-9]*\.[0-9]* CNT:\([0-9]*\) TOTAL:[0-9]* MIN:[0-9]* MAX:[0-9]*$/\1/p" "$graph/$1/profile"
}

echo text >>"$MNT/file"
expect "before it is measured" "" "$(cat "$graph"/{rot-13-1,posix}/profile)"
echo 1 >"$M/measure_latency"
for _ in 1 2 3; do echo text >>"$MNT/file"; done
expect "writes" "3 3" "$(count rot-13-1) $(count posix)"
expect "read once more" "3 3" "$(count rot-13-1) $(count posix)"
expect "average, least and most" 1 "$(awk -F'[: ]' '/WRITE/ { print ($4 * $6 >= $8 - 1 && $4 * $6 <= $8 + 1 && $10 <= $4 && $4 <= $12) }' \
    "$graph/posix/profile")"
expect_match "other operations" '^posix\.latency\.OPEN = AVG:' "$(cat "$graph/posix/profile")"
echo 0 >"$M/measure_latency"
echo text >>"$MNT/file"
expect "when it isn't measured any more" "3 3" "$(count rot-13-1) $(count posix)"
echo on >"$M/measure_latency"
echo text >>"$MNT/file"
expect "again" "4 4" "$(count rot-13-1) $(count posix)"
unmount
