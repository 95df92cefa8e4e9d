#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/subdirectory over a brick: after a reload with another path nothing is reached of the
# first directory, not even from a working directory in it. A brick would answer for each gfid.
. "$(dirname "$0")/lib.sh"

brick one
mkdir -p one.d/a/one/two one.d/b
echo secret >one.d/a/one/two/file
show () {
    brick_volfile one
    printf 'volume sub\n    type features/subdirectory\n    option path %s\n    subvolumes one\nend-volume\n' \
        "$1" >>"$VOL"
}
show /a
mount_volfile "$VOL"
expect "a file" secret "$(cat "$MNT/one/two/file")"
cd "$MNT/one" || fail "no working directory"
expect_ok "$WINDLASS" reload "$MNT"
expect "the directory, after a reload" two "$(ls)"
cd "$TEST_DIR" || fail "no way back"
show /b
cd "$MNT/one" || fail "no working directory"
expect_ok "$WINDLASS" reload "$MNT"
expect "the other directory" "" "$(ls "$MNT")"
for command in "ls" "cat two/file" "touch intruder" "mkdir made"; do
    if $command >/dev/null 2>&1; then fail "the first directory is still reached: $command"; fi
done
cd "$TEST_DIR" || fail "no way back"
expect "the first directory" two "$(ls one.d/a/one)"
unmount
