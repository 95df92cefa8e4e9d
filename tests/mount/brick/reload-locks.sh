#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that waits for a lock of a brick hinders no move to another graph. It gets the lock
# there, through the old graph, and nobody else has it meanwhile.
. "$(dirname "$0")/lib.sh"

brick one
brick_volfile one
cp "$VOL" one.vol
mkdir other
mount_volfile "$VOL"
"$WINDLASS" -f one.vol -l other.log --io-uring=off other || fail "the other mount failed"
touch "$MNT/file"
lock=$PROGRAMS/lock
for kind in fcntl flock; do
    mkfifo holds waits
    "$lock" $kind write wait other/file <holds >held &
    holder=$!
    exec 5>holds
    wait_until "grep -q got held"
    "$lock" $kind write wait "$MNT/file" <waits >waited 5>&- &
    waiter=$!
    exec 6>waits
    wait_until "'$WINDLASS' inflight '$MNT' | grep -q 'waits for: a lock of brick'"
    since=$SECONDS
    printf 'volume top\n    type test/pass\n    subvolumes one\nend-volume\n' >>"$VOL"
    "$WINDLASS" reload "$MNT" >answer 2>&1 || fail "a reload fails: $(cat answer)"
    [ $((SECONDS - since)) -lt 8 ] || fail "the reload took $((SECONDS - since)) s"
    expect_match "what is said of the file" '^1 files stay with the old graph' "$(cat answer)"
    exec 5>&-
    wait $holder
    wait_until "grep -q got waited"
    expect "another owner" EAGAIN "$("$lock" $kind write try other/file </dev/null)"
    exec 6>&-
    wait $waiter
    wait_until "grep -q 'no file uses the old graph any more' '$LOG'"
    : >"$LOG"
    rm holds waits held waited
    cp one.vol "$VOL"
    "$WINDLASS" reload "$MNT" >answer 2>&1 || fail "a reload fails: $(cat answer)"
done
umount other
unmount
