#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# When the module of a translator is replaced on the disk, a mount goes on with the one before, and
# windlass doctor tells so. A reload takes the new one, while a file stays open, unless it does not
# fit, or the program was replaced as well: that takes a new mount.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"
need_fuse

mkdir -p new/encryption new/storage bin
cp "$BUILD_DIR/xlators/encryption/rot-13.so" new/encryption
cp "$BUILD_DIR/xlators/storage/posix.so" new/storage
cp "$BUILD_DIR/src/windlass" bin/windlass
export WINDLASS_XLATOR_PATH=$PWD/new
WINDLASS=$PWD/bin/windlass

# replace FILE WITH: as dpkg does.
replace () {
    cp "$2" "$1.dpkg-new" && mv "$1.dpkg-new" "$1"
}

stack encryption/rot-13
mount_volfile "$VOL"
echo hello >"$MNT/file"
exec 5<"$MNT/file"
expect_no_match "before" '^note' "$("$WINDLASS" doctor "$MNT")"

replace new/encryption/rot-13.so new/encryption/rot-13.so
expect "after the translator was replaced" hello "$(cat "$MNT/file")"
said=$("$WINDLASS" doctor "$MNT")
expect_match "the translator" "^note +translators +replaced: $PWD/new/encryption/rot-13.so" "$said"
expect_match "what mends it" "^ +mend: +windlass reload $MNT" "$said"

expect_match "the reload" "module of type 'encryption/rot-13' is another one" \
    "$("$WINDLASS" reload "$MNT")"
expect_no_match "after the reload" 'translators' "$("$WINDLASS" doctor "$MNT")"
expect "after the reload" hello "$(cat "$MNT/file")"
expect "the file that stayed open" hello "$(cat <&5)"
exec 5<&-
expect "a second reload" "no option changed" "$("$WINDLASS" reload "$MNT")"

# One for another ABI is refused, and what runs goes on.
replace new/encryption/rot-13.so "$BUILD_DIR/tests/xlators/test/badabi.so"
expect "the reload with another ABI" "no option changed" "$("$WINDLASS" reload "$MNT")"
expect_match "the log" "was built for ABI 4711.*; going on with the module that was loaded" \
    "$(cat "$LOG")"
expect "after it" hello "$(cat "$MNT/file")"
replace new/encryption/rot-13.so "$BUILD_DIR/xlators/encryption/rot-13.so"
expect_match "the next one" "is another one" "$("$WINDLASS" reload "$MNT")"
expect "in the end" hello "$(cat "$MNT/file")"
replace bin/windlass bin/windlass
said=$("$WINDLASS" doctor "$MNT") || fail "it works: $said"
expect_match "the program" "^note +program +needs restart: process $(cat pid)" "$said"
expect_match "all mounts" "^note +mounts +needs restart: (.* )?$MNT( |\$)" \
    "$("$WINDLASS" doctor --no-mount)"
expect "after the program was replaced" hello "$(cat "$MNT/file")"
replace new/encryption/rot-13.so new/encryption/rot-13.so
expect_no_match "a reload after that" 'is another one' "$("$WINDLASS" reload "$MNT")"
expect_no_match "what a reload would not mend" 'translators' "$("$WINDLASS" doctor "$MNT")"
expect "after all" hello "$(cat "$MNT/file")"
unmount
