#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A copy whose brick has lost the file's handle is left out, and heal says what helps: the brick is
# started anew.
. "$(dirname "$0")/lib.sh"
need_command glusterfs

bricks_begin
replicate_volfile
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
echo one >"$MNT/file"
gfid=$(getfattr -n trusted.gfid -e hex "$TEST_DIR/c0.d/file" 2>/dev/null |
    sed -n 's/.*=0x\(....\).*/\1/p')
find "$TEST_DIR/c0.d/.glusterfs/${gfid:0:2}/${gfid:2:2}" -type f -samefile "$TEST_DIR/c0.d/file" \
    -delete
echo two >"$MNT/file"
expect "the copy that no longer follows" one "$(cat "$TEST_DIR/c0.d/file")"
expect "what is read" two "$(cat "$MNT/file")"
expect_error 'the copy on c0 .*restart the brick, and heal again' "$WINDLASS" heal "$MNT" file

brick_stop c0
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: c0'"
brick_start c0
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
expect_ok "$WINDLASS" heal "$MNT" file
expect_equal_copies "after the heal"
unmount
