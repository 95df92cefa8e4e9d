#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Data that one program writes past the page cache, with O_DIRECT and io_submit(2), another program
# reads through the page cache as soon as the write is done, also if it read during the write.
. "$(dirname "$0")/../lib.sh"

written_is_read () { # STACK
    "$PROGRAMS/async-direct" "$MNT/file" 200 || fail "$1: a reader saw what was there before"
    sum=$(cksum <"$MNT/file")
    unmount
    mount_volfile "$VOL"
    expect "after another mount, $1" "$sum" "$(cksum <"$MNT/file")"
    unmount
}

dd if=/dev/zero of=probe bs=4096 count=1 oflag=direct status=none 2>/dev/null ||
    skip "needs O_DIRECT on the file system of $TEST_DIR"
stack
mount_volfile "$VOL" --passthrough=off
written_is_read "storage alone"
stack encryption/rot-13
mount_volfile "$VOL"
written_is_read rot-13
stack encryption/rot-13 performance/write-behind performance/io-cache
mount_volfile "$VOL"
written_is_read "caches"
