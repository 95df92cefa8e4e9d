#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Requests through io_uring, where operations that were always quick hang in the thread that took
# them, many at a time: no other request waits for that, nor does a caller that was answered before
# the hang began.
# builds: tsan debug
# longer
# through: io_uring
. "$(dirname "$0")/../lib.sh"
need_command taskset python3
need_io_uring

# first COMMAND...: on one processor, so with one queue.
first () {
    taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$@"
}

hanging () { # OPERATION: requests that are below it
    "$WINDLASS" inflight "$MNT" | grep -c "^request.* $1"
}

below=$TEST_DIR/below lower=$TEST_DIR/lower
mkdir "$below" "$lower"
for i in {1..24}; do echo "$i" >"$below/slow$i"; done
for i in {1..8}; do echo "$i" >"$below/quick$i"; done
printf 'volume p\n type storage/posix\n option directory "%s"\nend-volume
volume f\n type debug/fault\n subvolumes p\nend-volume\n' \
    "$below" >lower.vol
"$WINDLASS" -f lower.vol -l lower.log -p lower.pid "$lower" || fail "the lower mount"

# Eight quick requests among twenty-four that hang, and no request after them: the daemon fetches
# those that the kernel has kept.
hang_among () { # OPTION...
    BACK=$lower stack
    mount_volfile "$VOL" --io-uring=required --attribute-timeout=0 --entry-timeout=0 "$@"
    for round in $(amount 1 "1 2 3"); do
        first cat "$MNT"/* >/dev/null
        expect_ok "$WINDLASS" fault "$lower" - <<<'open path "/slow*" -> hang'
        quick=() slow=()
        for i in {1..24}; do
            first cat "$MNT/slow$i" >"slow$i" &
            slow+=($!)
            [ $((i % 3)) != 0 ] ||
                { first cat "$MNT/quick$((i / 3))" >"quick$((i / 3))" & quick+=($!); }
        done
        for one in "${quick[@]}"; do wait "$one" || fail "who is quick fails in round $round"; done
        for i in {1..8}; do expect "what is quick" "$i" "$(cat "quick$i")"; done
        wait_until '[ "$(hanging open)" = 24 ]'
        first stat "$MNT/quick1" >/dev/null || fail "stat"
        expect_ok "$WINDLASS" fault "$lower" --clear
        for one in "${slow[@]}"; do wait "$one" || fail "what hung fails in round $round"; done
        for i in {1..24}; do expect "what hung" "$i" "$(cat "slow$i")"; done
    done
    # Only this request is left, once the kernel has told of the last close.
    wait_until '[ "$(sed -n "s/^io_uring_in_use = //p" "$MNT"/.meta/master/private)" = 1 ]'
    unmount
}

hang_among
hang_among --reader-thread-count=1
hang_among --io-uring-pinned=off --io-uring-queue-depth=64

# An answer that comes before the work is done doesn't wait for it.
BACK=$lower stack performance/write-behind
mount_volfile "$VOL" --io-uring=required --kernel-writeback-cache=off --passthrough=off
expect_ok "$WINDLASS" fault "$lower" - <<<'writev path "/written" -> hang'
first timeout 60 python3 - "$MNT/written" <<'END' &
import os, sys
fd = os.open (sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range (20):
    assert os.write (fd, b"x" * 4096) == 4096
open ("answered", "w").close ()
os.close (fd)
END
wait_until '[ -e answered ]'
wait_until '[ "$(hanging writev)" -gt 0 ]'
first cat "$MNT"/quick* >/dev/null || fail "others aren't served"
expect_ok "$WINDLASS" fault "$lower" --clear
wait $! || fail "the writer fails"
unmount
expect "the size of what was written" 81920 "$(stat -c %s "$below/written")"

# Killed meanwhile, it is gone.
BACK=$lower stack
mount_volfile "$VOL" --io-uring=required --attribute-timeout=0 --entry-timeout=0
first cat "$MNT"/* >/dev/null
expect_ok "$WINDLASS" fault "$lower" - <<<'open path "/slow*" -> hang'
for i in {1..6}; do first cat "$MNT/slow$i" >/dev/null 2>&1 & done
wait_until '[ "$(hanging open)" = 6 ]'
kill -9 "$DAEMON"
expect_ok "$WINDLASS" fault "$lower" --clear
wait_until "! is_running $DAEMON"
DAEMON=''
wait_until 'stat "$MNT/quick1" 2>&1 | grep -q "not connected"'
umount -l "$MNT"
wait
lower_daemon=$(cat lower.pid) # it takes the file away
kill "$lower_daemon"
wait_until "! is_running $lower_daemon"
expect_no_match "what was logged" 'refused|Assertion|CRITICAL|ERROR' "$(cat "$LOG")"
