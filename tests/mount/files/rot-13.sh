#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# encryption/rot-13: the directory holds what tr would make of the data, however it was written, and
# each direction can be switched off.
# builds: debug
. "$(dirname "$0")/../lib.sh"

rotated () {
    tr 'A-Za-z' 'N-ZA-Mn-za-m'
}

stack encryption/rot-13
mount_volfile "$VOL"
printf 'Hello, World 42!\n' >"$MNT/file"
expect "letters alone are rotated" 'Uryyb, Jbeyq 42!' "$(cat "$BACK/file")"
printf 'xyz' | dd of="$MNT/file" bs=1 seek=7 conv=notrunc status=none
expect "a change in the middle" 'Hello, xyzld 42!' "$(cat "$MNT/file")"
echo more >>"$MNT/file"
expect "what was appended" more "$(tail -n 1 "$MNT/file")"
expect "the directory" "$(rotated <"$MNT/file")" "$(cat "$BACK/file")"

# More than a request, with every byte there is.
head -c 5000003 /dev/urandom >whole
cp whole "$MNT/big"
expect_ok cmp whole "$MNT/big"
LC_ALL=C rotated <whole | cmp - "$BACK/big" || fail "the directory doesn't hold the rotated bytes"
expect "bytes from an odd place" "$(tail -c +1234568 whole | head -c 777 | md5sum)" \
    "$(tail -c +1234568 "$MNT/big" | head -c 777 | md5sum)"
cp "$MNT/big" "$MNT/copy"
expect_ok cmp whole "$MNT/copy"
unmount

stack encryption/rot-13 encryption/rot-13
mount_volfile "$VOL"
echo twice >"$MNT/twice"
expect "two of them cancel out" twice "$(cat "$BACK/twice")"
unmount

stack encryption/rot-13,decrypt-read=off
mount_volfile "$VOL"
echo hello >"$MNT/one-way"
expect "read as it lies there" uryyb "$(cat "$MNT/one-way")"
unmount

stack encryption/rot-13,encrypt-write=off
mount_volfile "$VOL"
echo hello >"$MNT/other-way"
expect "written as it is" hello "$(cat "$BACK/other-way")"
expect "rotated when it is read" uryyb "$(cat "$MNT/other-way")"
unmount
