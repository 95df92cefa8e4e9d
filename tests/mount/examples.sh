#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The examples of the manual pages, and README's commands, work as they are written: examples.py
# takes them from the texts.
. "$(dirname "$0")/lib.sh"
need_fuse
let_users_mount
need_command python3

mkdir "$TEST_DIR/t"
chmod 755 "$TEST_DIR" "$TEST_DIR/t"
user test -x "$BUILD_DIR/src/windlass" || skip "needs a build that others may read"
python3 "$SOURCE_DIR/tests/mount/examples.py" "$SOURCE_DIR" "$TEST_DIR/t" ||
    fail "an example isn't as it is written"
