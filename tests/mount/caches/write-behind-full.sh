#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# write-behind over a disk that gets full, one whose writes fail, and one that is gone while
# write-behind still holds data: a caller that closes or syncs gets the error, a read returns what
# is there, nothing hangs, and errors are counted.
# builds: tsan debug
. "$(dirname "$0")/../lib.sh"
need_fuse
need_root
behind=performance/write-behind

counter () {
    sed -n "s/^$1 = //p" "$MNT/.meta/graphs/active/write-behind-$2/private"
}

# fill: writes to $MNT/large until the disk is full, and checks that what is read is what is there.
fill () {
    expect_error 'No space left' dd if=large of="$MNT/large" bs=4k
    expect_error 'No space left' cp large "$MNT/copy"
    size=$(stat -c %s "$BACK/large")
    expect "the size" "$size" "$(stat -c %s "$MNT/large")"
    expect_ok cmp "$BACK/large" "$MNT/large"
}

# Full, and then not any more. Writes that do not overlap overtake each other, so a failing one may
# leave a hole, and nothing but that.
mount -t tmpfs -o size=2m none "$BACK" || skip "needs tmpfs"
stack $behind
mount_volfile "$VOL"
head -c 3000000 /dev/urandom >large
fill
expect "bytes that are neither those written nor a hole's" '' \
    "$(cmp -l -n "$size" "$MNT/large" large | awk '$2 != 0' | head)"
rm "$MNT/large" "$MNT/copy"
# The kernel tells the daemon of the last close a moment later.
wait_until '[ "$(stat -f -c %f "$BACK")" -ge 400 ]'
head -c 1000000 large >"$MNT/small" || fail "there is room again"
expect_ok cmp -n 1000000 large "$BACK/small"
expect "writes that aren't done" 0 "$(counter unfinished 1)"
expect "memory" 0 "$(counter memory_held 1)"
expect "errors that nobody knows" 0 "$(counter errors_nobody_knows_yet 1)"
unmount
rm "$BACK"/*

# One after the other: there is no hole.
stack $behind,strict-write-ordering=on
mount_volfile "$VOL"
fill
expect_ok cmp -n "$size" large "$MNT/large"
unmount
umount "$BACK"

# Each write fails late, and no caller asks, since the bytes come from a mapping after the close:
# the failure is counted, and logged once more when the file is forgotten.
echo 'writev -> delay 20ms then error EIO' >rules
stack "debug/fault,rules=$TEST_DIR/rules" $behind
mount_volfile "$VOL"
for i in 1 2 3; do
    expect_ok python3 "$SOURCE_DIR/tests/mount/programs/store-mapped.py" "$MNT/$i" text after
done
wait_until '[ "$(counter errors_nobody_knows_yet 2)" = 3 ]'
wait_until '! cat "$MNT"/[123] | grep -q text' # the kernel is told of it later
expect_error 'Input/output error' sync "$MNT/1"
expect_ok sync "$MNT/1"
unmount
expect "errors that nobody asked for" 2 \
    "$(grep -c 'no fsync or close asked for the result of writes .*Input/output error' "$LOG")"

# The power goes while a writer is far ahead of a slow disk.
stack debug/power-cut debug/delay-gen,delay-percentage=100%,delay-duration=200000,enable=writev \
    $behind
mount_volfile "$VOL"
dd if=/dev/zero of="$MNT/f" bs=64k count=100000 2>dd.said &
writer=$!
wait_until '"$WINDLASS" inflight "$MNT" | grep -q "room: as much of the file as may be (cache-size)"'
[ "$(counter waited_for_room 3)" -gt 0 ] || fail "who waits for room isn't counted"
expect_ok "$WINDLASS" power-cut "$MNT"
wait_until "! is_running $DAEMON"
DAEMON=''
wait $writer && fail "the writer was told nothing"
expect_match "what it was told" \
    'Transport endpoint|Input/output error|connection aborted|No such device' "$(cat dd.said)"
