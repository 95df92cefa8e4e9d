#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Who moves a megabyte takes long, but waits for nobody: no other thread would be quicker, so it isn't handed to one. Nor is what the kernel
# writes by itself, many at a time.
# builds: debug release tsan
# alone
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
[ "$(tr -d '\0' <"$BACK/file" | wc -c)" = 0 ] || fail "other bytes were written"
