#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Moving a megabyte takes long, but waits for nothing: no other thread would be quicker, so the
# thread that takes the request moves it. The same holds for pages that the kernel writes by itself,
# many at a time, and on one processor.
# builds: release debug tsan
# alone
. "$(dirname "$0")/../lib.sh"

number () { # KEY: of what the bridge tells of itself
    sed -n "s/^$1 = //p" "$MNT/.meta/master/private"
}

# Now and then the timer finds one that the machine held up.
none_is_handed_over () { # dd's options...
    dd if=/dev/zero of="$MNT/file" bs=1M count=32 "$@" 2>/dev/null || fail "it can't be written"
    [ "$(number work_threads)" = 0 ]
}

stack encryption/rot-13
mount_volfile "$VOL" --io-uring=off
wait_until "none_is_handed_over conv=notrunc"
unmount
mount_volfile "$VOL" --io-uring=off --kernel-writeback-cache=on
wait_until "none_is_handed_over conv=notrunc,fsync"
unmount

processor=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
(taskset -pc "$processor" $BASHPID >/dev/null &&
    mount_volfile "$VOL" --io-uring=off --kernel-writeback-cache=on) || exit 1
DAEMON=$(cat pid)
taskset -c "$processor" dd if=/dev/zero of="$MNT/file" bs=1M count=192 \
    conv=notrunc,fsync 2>/dev/null || fail "it can't be written"
unmount
[ "$(tr -d '\0' <"$BACK/file" | wc -c)" = 0 ] || fail "other bytes were written"
