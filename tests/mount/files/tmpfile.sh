#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files without a name (O_TMPFILE) are written, and get one later or never.
# builds: debug
. "$(dirname "$0")/../lib.sh"
grep -q 'HAVE_STRUCT_FUSE_LOWLEVEL_OPS_TMPFILE 1' "$BUILD_DIR/config.h" ||
    skip "needs a libfuse with tmpfile (3.17)"

mkdir bare
"$PROGRAMS/tmpfile" bare >expected || skip "needs a file system with O_TMPFILE below $TEST_DIR"
for handles in auto descriptor; do
    POSIX_OPTIONS="handles=$handles" stack encryption/rot-13
    mount_volfile "$VOL"
    expect "what is done" "$(cat expected)" "$("$PROGRAMS/tmpfile" "$MNT")"
    expect "what is there" "named some text" "$(ls "$MNT") $(cat "$MNT/named")"
    rm "$MNT/named"
    unmount
    expect "what is left" "" "$(ls -A "$BACK")"
done
