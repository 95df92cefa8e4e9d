#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A tree 300 folders deep, which no single path can name: made, walked, found again after another
# mount, and removed.
. "$(dirname "$0")/../lib.sh"

name=a-folder-with-a-rather-long-name
whole=$(printf "$name/%.0s" {1..300})

# The lowest folder's file; these programs go down step by step.
read_file () {
    find "$1" -name file -execdir cat {} +
}

# Twice: found by handle (as root), and by name with hardly any descriptors.
for handles in auto descriptor; do
    POSIX_OPTIONS="handles=$handles descriptor-cache=8" stack
    mount_volfile "$VOL"
    (cd "$MNT" && mkdir -p "$whole") || fail "can't make it"
    find "$MNT" -depth -type d -execdir sh -c 'echo deep >"$1/file"' sh {} \; -quit
    expect "the file" deep "$(read_file "$MNT")"
    expect "the file in the directory" deep "$(read_file "$BACK")"
    expect "its folders" 300 "$(find "$MNT" -mindepth 1 -type d | wc -l)"
    unmount

    mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
    expect "its folders after another mount" 300 "$(find "$MNT" -mindepth 1 -type d | wc -l)"
    expect "the file after another mount" deep "$(read_file "$MNT")"
    mkdir "$MNT/elsewhere"
    expect_ok mv "$MNT/$name" "$MNT/elsewhere/$name"
    expect "the file after a move" deep "$(read_file "$MNT/elsewhere")"
    expect_ok rm -r "$MNT/elsewhere"
    expect "what is left" "" "$(ls -A "$BACK")"
    unmount
done
