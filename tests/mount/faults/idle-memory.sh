#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Memory that many large requests through io_uring took goes back to the system a few seconds after
# the last one.
# builds: release only
# through: io_uring
. "$(dirname "$0")/../lib.sh"
need_io_uring

resident () { # kilobytes
    awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status"
}

stack encryption/rot-13
mount_volfile "$VOL" --kernel-writeback-cache=on
daemon=$(cat "$TEST_DIR/pid")
dd if=/dev/zero of="$MNT/file" bs=1M count=500 conv=fsync status=none
echo "after 500 MB: $(resident "$daemon") kB"
wait_until "[ \$(awk '\$1 == \"VmRSS:\" { print \$2 }' /proc/$daemon/status) -lt 40000 ]"
echo "idle: $(resident "$daemon") kB"
