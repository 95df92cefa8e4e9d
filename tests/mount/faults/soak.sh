#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Under mixed load and in all kinds of trouble nothing confirmed is lost and nothing leaks. `make
# soak` does it for hours.
# long
# timeout: 1200
# alone
. "$(dirname "$0")/../lib.sh"
need_root
need_command git sqlite3 gcc mkfs.ext4
export BUILD_DIR BUILD_NAME
TMPDIR=$TEST_DIR "$SOURCE_DIR/tests/soak/run" --seconds 100 || fail "see above"
