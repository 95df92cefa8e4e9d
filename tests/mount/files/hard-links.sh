#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Hard links are one file: the same inode, number of links and content on both sides, by each name.
. "$(dirname "$0")/../lib.sh"

for handles in auto descriptor; do
    POSIX_OPTIONS="handles=$handles descriptor-cache=4" stack
    mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
    mkdir "$MNT/dir"
    echo one >"$MNT/a"
    ln "$MNT/a" "$MNT/dir/b"
    ln "$MNT/dir/b" "$MNT/c"
    expect "inode and links" "$(stat -c '%i %h' "$BACK/c")" "$(stat -c '%i %h' "$MNT/dir/b")"
    expect "links" 3 "$(stat -c %h "$MNT/a")"
    echo two >>"$MNT/dir/b"
    expect "the content by another name" "one two" "$(paste -sd' ' "$MNT/a")"
    rm "$MNT/a"
    expect "links after one went" 2 "$(stat -c %h "$MNT/c")"
    echo three >>"$MNT/c"
    expect "the content by the last" "one two three" "$(paste -sd' ' "$MNT/dir/b")"

    # Made and removed behind the mount.
    ln "$BACK/c" "$BACK/d"
    rm "$BACK/c"
    expect "the content by a name made behind" "one two three" "$(paste -sd' ' "$MNT/d")"
    expect_error 'No such file' cat "$MNT/c"
    expect "links now" 2 "$(stat -c %h "$MNT/dir/b")"
    expect "one inode" 1 "$(find "$MNT" -samefile "$MNT/d" -name b | wc -l)"

    # Two names change places by way of a third.
    echo other >"$MNT/x"
    mv "$MNT/d" "$MNT/y" && mv "$MNT/x" "$MNT/d" && mv "$MNT/y" "$MNT/x"
    expect "after they changed places" "other one" "$(head -qn 1 "$MNT/d" "$MNT/x" | paste -sd' ')"
    rm -r "${MNT:?}"/*
    unmount
done
