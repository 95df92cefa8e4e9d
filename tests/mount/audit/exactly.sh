#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit: each operation of several processes is recorded exactly once, or counted in one
# gap while the disk of the log is full, in an order that explains the results; with moves to
# another graph meanwhile.
. "$(dirname "$0")/../lib.sh"

need_root
need_command python3
mkdir records
mount -t tmpfs -o "size=$(amount 40m 160m)" tmpfs records || skip "needs mount"
echo 'mkdir,rmdir,rename,unlink,create,readv,writev -> record' >rules
for disk in roomy full; do
    echo "$disk"
    stack "features/audit,log-directory=$TEST_DIR/records,rules=$TEST_DIR/rules,max-size=100MB"
    mount_volfile "$VOL"
    expect_ok python3 "$(dirname "$0")/exactly.py" "$WINDLASS" "$MNT" "$VOL" "$TEST_DIR/records" \
        "$(amount 1400 12000)" $disk
    unmount
    rm -f records/*
done
