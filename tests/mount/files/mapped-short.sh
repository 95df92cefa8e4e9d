#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The kernel writes changed pages itself, and ignores a short write: all of it is written
# nevertheless, or a caller that syncs gets the error.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"

# rules LINE...: what goes wrong from now on.
rules () {
    printf '%s\n' "$@" >rules
    expect_ok "$WINDLASS" fault "$MNT" rules
}

stack debug/fault
for options in --kernel-writeback-cache=off --kernel-writeback-cache=on; do
    mount_volfile "$VOL" $options
    : >"$MNT/file"
    rules "writev -> short 2" # the sum has three bytes
    expect "the sum with $options" "200000 200000" "$("$PROGRAMS/mapped" "$MNT/file")"
    unmount
    expect "the sum in the directory" 200000 "$(od -An -j8192 -N8 -td8 "$BACK/file" | tr -d ' ')"

    mount_volfile "$VOL" $options
    : >"$MNT/file"
    rules "writev nth 1 -> short 2" "writev -> error ENOSPC"
    expect_error "mapped: " "$PROGRAMS/mapped" "$MNT/file"
    expect_ok "$WINDLASS" fault "$MNT" --clear
    unmount
done
