#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# One of three copies dies and comes back again and again while the conformance kit runs: its cases
# pass as they do over one brick (mount/brick/conform), and the copies are equal when they are
# healed. Without the deep tree: a brick that was started again can't remove what has a longer path
# than PATH_MAX there. Without the times of directories: each copy has its own.
# builds: release only
# through: io_uring
# longer
# timeout: 900
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile
{
    cat "$SOURCE_DIR/tests/mount/brick/brick.allow"
    printf '\n%s\n%s\n%s\n' 'case *' 'why  the brick is killed' \
        "line *@(c1: lost the connection|c1 can't be used\
|a copy's changelog could not be changed: ENOTCONN|fsync failed on c1: @(ENOTCONN|ESTALE)\
|could not be kept over the loss of the connection: Stale file handle)*"
} >allow
cases=$(amount '@(data|links)/!(a deep tree)' \
    '!(offsets|unlinked|concurrent|paths|times)/!(a deep tree)')
"$WINDLASS" conform --mount --as root --directory "$TEST_DIR" --case "$cases" \
    --allow allow "$VOL" >out 2>&1 &
kit=$!
kills=0
while kill -0 $kit 2>/dev/null; do
    sleep 0.$((RANDOM % 90 + 10))
    brick_kill c1 2>/dev/null
    sleep 0.$((RANDOM % 90 + 10))
    brick_start c1
    kills=$((kills + 1))
done
wait $kit || fail "$kills kills: $(cat out)"
echo "$kills kills"
expect_match "what the kit says" \
    '^[0-9]+ passed, 0 failed, 0 skipped, [0-9]+ differ by design$' "$(cat out)"
mount_volfile "$VOL"
heal_all
wait_until no_marks
expect_equal_copies "after $kills kills"
unmount
