#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Storage alone needs no flush, so the kernel sends none. A reload that brings write-behind changes
# that: a file that is opened afterwards is in storage once it is closed. Of one that was open before,
# whose close the kernel goes on to keep to itself, write-behind answers no write early.
. "$(dirname "$0")/../lib.sh"
need_fuse

stack performance/io-cache
mount_volfile "$VOL"
exec 7>"$MNT/before"
stack debug/delay-gen,delay-percentage=100%,delay-duration=200000,enable=writev \
    performance/write-behind
expect_ok "$WINDLASS" reload "$MNT"
echo after >"$MNT/after"
expect "a file that was opened afterwards" after "$(cat "$BACK/after")"
echo before >&7
expect "a file that was open before" before "$(cat "$BACK/before")"
exec 7>&-
unmount
