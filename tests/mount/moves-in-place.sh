#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Who moves a megabyte takes long, but waits for nobody: no other thread would be quicker, so it isn't handed to one. Nor is what the kernel
# writes by itself, many at a time.
# builds: release debug tsan
# alone
# timeout: 300
. "$(dirname "$0")/lib.sh"

number () { # KEY: of what the bridge tells of itself
    sed -n "s/^$1 = //p" "$MNT/.meta/master/private"
}

# At 32 in one go: now and then one waits for the machine, and then it is learnt anew.
few_are_handed_over () { # dd's options...
    local before
    before=$(number handed_over)
    dd if=/dev/zero of="$MNT/file" bs=1M count=32 "$@" 2>/dev/null || fail "it can't be written"
    [ $(($(number handed_over) - before)) -lt 16 ]
}

stack encryption/rot-13
mount_volfile "$VOL" --io-uring=off
wait_until 60 "few_are_handed_over conv=notrunc"
unmount
mount_volfile "$VOL" --io-uring=off --kernel-writeback-cache=on
wait_until 60 "few_are_handed_over conv=notrunc,fsync"
unmount

# Where one processor is what all of them wait for, no more take requests than are worth having: each would bring a megabyte that no cache has.
# One that waits for the file's lock may be replaced all the same.
processor=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
few_take_requests () {
    (taskset -pc "$processor" $BASHPID >/dev/null && mount_volfile "$VOL" --io-uring=off --kernel-writeback-cache=on) || exit 1
    DAEMON=$(cat pid)
    taskset -c "$processor" dd if=/dev/zero of="$MNT/file" bs=1M count=192 conv=notrunc,fsync 2>/dev/null || fail "it can't be written"
    local readers
    readers=$(number readers)
    unmount
    [ "$readers" -le 6 ]
}
wait_until 100 few_take_requests
[ "$(tr -d '\0' <"$BACK/file" | wc -c)" = 0 ] || fail "other bytes were written"
