#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files and folders that are removed while they are open work on, and leave nothing behind.
# builds: debug
. "$(dirname "$0")/../lib.sh"

for handles in auto descriptor; do
    POSIX_OPTIONS="handles=$handles descriptor-cache=4" stack
    mount_volfile "$VOL" --attribute-timeout=0
    echo first >"$MNT/file"
    exec 6<>"$MNT/file"
    rm "$MNT/file"
    for i in {1..20}; do echo "other $i" >"$MNT/other$i"; done
    echo second >>/proc/self/fd/6
    expect "a removed file" "first second" "$(paste -sd' ' /proc/self/fd/6)"
    expect "its links" 0 "$(stat -Lc %h /proc/self/fd/6)"
    chmod 600 /proc/self/fd/6
    expect "its mode" 600 "$(stat -Lc %a /proc/self/fd/6)"
    truncate -s 3 /proc/self/fd/6
    expect "what is left of it" fir "$(cat /proc/self/fd/6)"
    exec 6>&-
    expect "what is in the directory" 20 "$(ls -A "$BACK" | wc -l)"

    mkdir "$MNT/dir"
    cd "$MNT/dir" || exit 1
    rmdir "$MNT/dir"
    expect_error 'No such file' touch new
    cd "$TEST_DIR" || exit 1
    rm "$MNT"/other*
    unmount
done
