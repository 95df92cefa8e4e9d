#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's own mount of an own directory does what the bare directory does.
# builds: debug release asan
. "$(dirname "$0")/lib.sh"
drop_root
need_command fusermount3

mkdir bare
"$PROGRAMS/ops" bare >expected

# compare WHAT
compare () {
    "$PROGRAMS/ops" "$MNT" >got
    unmount
    diff expected got || fail "differs from the bare directory: $1"
    chmod -R u+rwx "$BACK"
    rm -rf "$BACK"
    mkdir "$BACK"
}

stack
mount_volfile "$VOL"
expect "the owner of the daemon" "$(id -u)" "$(stat -c %u "/proc/$DAEMON")"
compare "posix alone"

stack encryption/rot-13
mount_volfile "$VOL"
compare "below rot-13"

POSIX_OPTIONS="descriptor-cache=4" stack
mount_volfile "$VOL"
compare "with a small cache of descriptors"
