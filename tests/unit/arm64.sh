#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds for arm64 with no warning, and the build works in an emulator: a mount, the trace of
# functions, and the kit without a mount.
# builds: release only
# long
# timeout: 1200
. "$(dirname "$0")/processor.sh"

processor_build arm64 aarch64
processor_mounts
$windlass trace start --function 'posix_*' "$TEST_DIR/mnt" || fail "functions can't be traced"
processor_rotates
$windlass trace cat "$TEST_DIR/mnt" >trace.out || fail "the trace can't be printed"
grep -q 'posix_writev' trace.out || fail "the trace lacks posix_writev: $(head -n 20 trace.out)"
$windlass trace stop "$TEST_DIR/mnt" || fail "the trace can't be stopped"
processor_conforms
