#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A full disk whose space is with what has no entry yet: with min-free that is removed for good, and
# writes go on.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

mount -t tmpfs -o size=8m tmpfs "$BACK" || skip "needs mount"
stack features/trash,settle=1h,min-free=2MB
mount_volfile "$VOL"
for i in 1 2 3 4 5 6; do
    head -c 1M /dev/zero >"$MNT/file$i"
    rm "$MNT/file$i"
done
expect "none has an entry" "" "$(find "$BACK" -name '*.trashinfo')"
wait_until 'head -c 4M /dev/zero >"$MNT/large" 2>/dev/null'
expect_match "it is told" 'removed for good instead, lastly for ENOSPC' \
    "$("$WINDLASS" explain "$MNT/large")"
echo text >"$MNT/text"
expect "what is written" text "$(cat "$MNT/text")"
unmount
umount "$BACK"
