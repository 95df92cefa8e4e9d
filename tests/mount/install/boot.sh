#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A machine under qemu that boots with systemd: the unit and lines of fstab are mounted, survive
# kill -9, and do not keep the machine from its shutdown.
# builds: release only
# through: device
# timeout: 1500
# long
. "$(dirname "$0")/../lib.sh"
need_root
out=$(KERNEL_SECONDS=1200 BUILD_DIR=$BUILD_DIR "$SOURCE_DIR/tests/kernels/run" --systemd bookworm)
status=$?
echo "$out"
grep -q '^PASS ' <<<"$out" || [ $status != 0 ] || skip "$(grep '^SKIP ' <<<"$out" | head -n 1)"
exit $status
