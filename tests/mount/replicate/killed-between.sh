#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A copy goes and comes back between any two steps of histories of names: files that are replaced,
# directories that move. Before it is healed the mount shows what a bare directory does, and the log
# has no error: that the accused copy has other objects was to be expected. One round of heals makes
# all copies equal, and leaves no mark.
# through: io_uring
# longer
. "$(dirname "$0")/lib.sh"
need_command python3

bricks_begin
replicate_volfile
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
mkdir bare
phases=$(amount 3 5)

histories () {
    python3 "$SOURCE_DIR/tests/mount/replicate/between-kills.py" "$@"
}

for ((phase = 0; phase < phases; phase++)); do
    expect_ok histories do $phase "$phases" "$MNT" bare
    expect "what the mount shows in phase $phase" '' "$(histories compare "$MNT" bare)"
    [ $phase = $((phases - 1)) ] && break
    if [ $((phase % 2)) = 0 ]; then
        brick_kill c1
    else
        brick_start c1
        wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
    fi
done
expect "errors in the log" '' "$(grep ' E .* 0-r: ' "$LOG")"
expect_ok "$WINDLASS" heal "$MNT" /
accusers c0 >accusers
while read -r path; do
    "$WINDLASS" heal "$MNT" "$path" >>heal.out || fail "heal of $path: $(tail -n 5 heal.out)"
done <accusers
wait_until no_marks
expect_equal_copies "after healing"
expect "what the mount shows" '' "$(histories compare "$MNT" bare)"
unmount
