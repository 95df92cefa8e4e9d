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
for kind in fcntl flock; do
    lock_begin $kind other/file "$MNT/file"
    wait_until "'$WINDLASS' inflight '$MNT' | grep -q 'waits for: a lock of brick'"
    since=$SECONDS
    printf 'volume top\n    type test/pass\n    subvolumes one\nend-volume\n' >>"$VOL"
    "$WINDLASS" reload "$MNT" >answer 2>&1 || fail "a reload fails: $(cat answer)"
    [ $((SECONDS - since)) -lt 8 ] || fail "the reload took $((SECONDS - since)) s"
    expect_match "what is said of the file" '^1 files stay with the old graph' "$(cat answer)"
    lock_pass
    expect "another owner" EAGAIN "$("$PROGRAMS/lock" $kind write try other/file </dev/null)"
    lock_end
    wait_until "grep -q 'no file uses the old graph any more' '$LOG'"
    : >"$LOG"
    cp one.vol "$VOL"
    "$WINDLASS" reload "$MNT" >answer 2>&1 || fail "a reload fails: $(cat answer)"
done
umount other
unmount
