#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The directory is removed, or its file system taken away, under the mount: errors, no hang, no
# crash, and it unmounts.
# builds: debug
. "$(dirname "$0")/../lib.sh"

for handles in auto descriptor; do
    mkdir -p "$BACK/dir/sub"
    echo text >"$BACK/dir/file"
    POSIX_OPTIONS="handles=$handles" stack
    mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
    expect "what is there" "file sub" "$(ls "$MNT/dir" | paste -sd' ')"
    exec 7<"$MNT/dir/file"
    cd "$MNT/dir/sub" || exit 1
    rm -rf "$BACK"
    expect_error 'No such file|Stale' cat "$MNT/dir/file"
    expect_error 'No such file|Stale' ls "$MNT/dir"
    expect_error 'No such file|Stale' touch "$MNT/new"
    expect_error 'No such file|Stale' touch new
    expect "what is still open" text "$(cat <&7)"
    exec 7<&-
    cd "$TEST_DIR" || exit 1
    df "$MNT" >/dev/null 2>&1

    # Another directory of that name is another directory.
    mkdir "$BACK"
    touch "$BACK/other"
    expect_error 'No such file' cat "$MNT/other"
    unmount
    expect_no_match "the log" ' [CE] \[' "$(cat "$LOG")"
done

[ "$(id -u)" = 0 ] && mount -t tmpfs none "$BACK" || exit 0
echo text >"$BACK/file"
stack
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
expect "what is read" text "$(cat "$MNT/file")"
umount -l "$BACK"
# The daemon's descriptor keeps the file system, and nothing is lost.
expect "what is read afterwards" text "$(cat "$MNT/file")"
expect_ok sh -c "echo more >>'$MNT/file'"
expect "what is read then" "text more" "$(paste -sd' ' "$MNT/file")"
unmount
