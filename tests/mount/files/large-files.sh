#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files over 4 GiB with holes: sizes, blocks, where data is, and copies that keep the holes.
# builds: debug
. "$(dirname "$0")/../lib.sh"

stack
mount_volfile "$VOL"
file=$MNT/large
truncate -s 5G "$file"
printf 'at 4.5 GiB' | dd of="$file" bs=1M seek=4608 conv=notrunc status=none
printf 'at the end' >>"$file"
expect "the size" $((5 * 1024 * 1024 * 1024 + 10)) "$(stat -c %s "$file")"
expect "what is at 4.5 GiB" "at 4.5 GiB" \
    "$(dd if="$file" bs=1M skip=4608 count=1 status=none | head -c 10)"
expect "what is at the end" "at the end" "$(tail -c 10 "$file")"
expect "what is in a hole" 0000000 "$(dd if="$file" bs=1M skip=4100 count=1 status=none |
    tr -d '\0' | od -An | wc -c | xargs printf %07d)"

sync "$file"
blocks=$(stat -c %b "$BACK/large")
expect "the blocks" "$blocks" "$(stat -c %b "$file")"
expect "what du says" "$(du -k "$BACK/large" | cut -f1)" "$(du -k "$file" | cut -f1)"
[ "$blocks" -lt 1000 ] || fail "the file isn't sparse: $blocks blocks"

expect_ok timeout 20 cp --sparse=auto "$file" "$MNT/copy"
expect "the copy's size" "$(stat -c %s "$file")" "$(stat -c %s "$MNT/copy")"
[ "$(stat -c %b "$BACK/copy")" -lt 1000 ] || fail "the copy lost its holes"
expect "the copy's end" "at the end" "$(tail -c 10 "$BACK/copy")"

if command -v fallocate >/dev/null; then
    expect_ok fallocate -l 1M "$MNT/room"
    expect_ok fallocate -p -o 0 -l 512K "$MNT/room"
    expect "blocks after a hole was punched" "$(stat -c %b "$BACK/room")" \
        "$(stat -c %b "$MNT/room")"
fi
unmount

# The kernel takes a write beyond the largest file of storage into its writeback cache, as
# windlass-semantics(7) says, and the next fsync or close fails.
if ! truncate -s $(((1 << 44) + 1)) "$BACK/too-large" 2>/dev/null; then
    mount_volfile "$VOL" --kernel-writeback-cache=on
    beyond () {
        dd if=/dev/zero of="$MNT/$1" bs=4096 seek=$((1 << 32)) count=1 conv=notrunc "${@:2}"
    }
    expect_error 'fsync.*File too large' beyond synced conv=fsync
    expect_error 'clos.*Input/output error' beyond closed
fi
