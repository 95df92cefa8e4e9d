#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is mounted inside the mount of a brick stays, and working directories keep their paths, when
# another client changes the directory, while the brick is away, and when it is started again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../caches/watch-lib.sh"
. "$(dirname "$0")/../mounting/mounts-lib.sh"

brick one
mkdir -p one.d/d
brick_volfile one
mount_volfile "$VOL" "${HOUR[@]}"
mkdir "$MNT/d/sub" "$MNT/d/here"
touch "$MNT/d/f"
inside
mkdir "$TEST_DIR/other"
"$WINDLASS" -f "$VOL" -l "$TEST_DIR/other.log" -p "$TEST_DIR/other.pid" "$TEST_DIR/other" ||
    fail "no second client"
other=$(cat "$TEST_DIR/other.pid")
expect "the names" "f here sub" "$(ls "$MNT/d" | xargs)"
echo new >"$TEST_DIR/other/d/new"
sees "another client's file" "ls '$MNT/d' | xargs" "f here new sub"
stays "after another client's change"
umount "$TEST_DIR/other"
wait_until "! is_running $other"

: >"$LOG"
brick_kill one
wait_until "grep -q 'lost the connection' '$LOG'"
brick_start one
wait_until "stat '$MNT/d/new' >/dev/null 2>&1"
stays "after the brick was started again"

# All names have expired, and none of these can be looked up.
brick_kill one
wait_until "[ \"\$(grep -c 'lost the connection' '$LOG')\" = 2 ]"
expect "a file that is mounted inside" bound "$(cat "$MNT/d/f")"
expect "a directory that is" "" "$(ls "$MNT/d/sub" 2>&1)"
stays "without a brick"
brick_start one
wait_until "stat '$MNT/d/unknown' 2>&1 | grep -q 'No such file'"
stays "at the end"
without
unmount
