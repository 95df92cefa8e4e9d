#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A file that was written and closed without an error is complete in the brick: whoever looks there
# at once finds it so, and a brick without room lets the close fail. So it is with a volume's caches
# above, and with the kernel's, where the closed description is not the one that the bytes come by.
. "$(dirname "$0")/lib.sh"

mkdir one.d && mount -t tmpfs -o size=2m none one.d || skip "needs tmpfs"
brick one
brick_volfile one
{
    below=one
    for spec in 'debug/delay-gen delay-percentage 100% delay-duration 3000 enable writev' \
        performance/write-behind performance/readdir-ahead performance/io-cache \
        performance/open-behind performance/quick-read performance/md-cache; do
        # shellcheck disable=SC2086
        set -- $spec
        printf 'volume %s\n    type %s\n' "${1##*/}" "$1"
        below_was=$below below=${1##*/}
        while [ $# -gt 1 ]; do
            printf '    option %s "%s"\n' "$2" "$3"
            shift 2
        done
        printf '    subvolumes %s\nend-volume\n' "$below_was"
    done
} >>"$VOL"

for option in off on; do
    mount_volfile "$VOL" --kernel-writeback-cache=$option
    expect_ok python3 "$SOURCE_DIR/tests/mount/programs/close-tells.py" "$MNT" one.d
    rm -rf "${MNT:?}"/*
    unmount
done
