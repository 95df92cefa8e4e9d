#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The examples of the manual pages and documents, and README's commands, work as they are written:
# examples.py takes them from the texts.
. "$(dirname "$0")/../lib.sh"
need_fuse
let_users_mount
need_command python3

mkdir "$TEST_DIR/t"
chmod 755 "$TEST_DIR" "$TEST_DIR/t"
user test -x "$BUILD_DIR/src/windlass" || skip "needs a build that others may read"
# What pkg-config knows of an installed Windlass.
mkdir -p prefix/include prefix/lib/pkgconfig
chmod -R 755 prefix
ln -s "$SOURCE_DIR/src" prefix/include/windlass
sed "s|^prefix=.*|prefix=$TEST_DIR/prefix|; s|^includedir=.*|includedir=$TEST_DIR/prefix/include|" \
    "$BUILD_DIR/src/windlass.pc" >prefix/lib/pkgconfig/windlass.pc
export PKG_CONFIG_PATH=$TEST_DIR/prefix/lib/pkgconfig
python3 "$SOURCE_DIR/tests/mount/debugging/examples.py" "$SOURCE_DIR" "$TEST_DIR/t" ||
    fail "an example isn't as it is written"
