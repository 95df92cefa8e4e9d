#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# After an upgrade a mount goes on with the program and the translators that it began with. A reload
# changes their options and says so; it refuses a module of another version that it would have to
# load now, and the mount stays as it was. Mounted again, it is the new version.
. "$(dirname "$0")/../lib.sh"

# What is installed, in folders of its own, so that it can be replaced as a package does it.
mkdir bin lib
cp "$BUILD_DIR/src/windlass" bin/windlass
cp -r "$BUILD_DIR/xlators/." lib
mkdir -p lib/test
cp "$WINDLASS_TEST_XLATORS"/test/{pass,online,badabi}.so lib/test
export WINDLASS_XLATOR_PATH=$PWD/lib
WINDLASS=$PWD/bin/windlass

# replace FILE NEW: the old file stays until nobody has it open.
replace () {
    cp "$2" "$1.new" && mv "$1.new" "$1"
}

stack test/online,number=1
mount_volfile "$VOL"
exec 5>"$MNT/open"
expect "the answer to a reload before" "no option changed" "$("$WINDLASS" reload "$MNT")"

replace bin/windlass "$BUILD_DIR/src/windlass"
replace lib/test/online.so lib/test/badabi.so
replace lib/test/pass.so lib/test/badabi.so
upgraded="windlass was upgraded since this mount began"
goes_on="$upgraded: the mount goes on with the old version until it is unmounted and mounted again"

stack test/online,number=2
expect "the answer to a reload" "volume 'online-1': option 'number': '1' -> '2'
$goes_on" "$("$WINDLASS" reload "$MNT")"
stack test/online,number=2 test/online,number=3
expect_match "the same type once more" "$goes_on" "$("$WINDLASS" reload "$MNT")"

stack test/online,number=2 test/pass
expect_error "type 'test/pass': module '$PWD/lib/test/pass.so' was built for ABI 4711, must be \
[0-9]+: $upgraded; unmount it and mount it again to run the new version" "$WINDLASS" reload "$MNT"
echo 'no module' >text
replace lib/test/pass.so text
expect_error "'$PWD/lib/test/pass.so' is not a module that can be loaded: .*: $upgraded; unmount" \
    "$WINDLASS" reload "$MNT"

echo goes on >&5
exec 5>&-
expect "a file that was open" "goes on" "$(cat "$BACK/open")"

# A package that is removed takes its translators with it.
rm -r lib/test
stack test/online,number=4
expect_error "type 'test/online' is not there, looked in $PWD/lib" "$WINDLASS" reload "$MNT"
unmount
stack debug/trace
mount_volfile "$VOL"
expect "the answer of the new version" "no option changed" "$("$WINDLASS" reload "$MNT")"
