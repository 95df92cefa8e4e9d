#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's own mount of an own directory does what the bare directory does; and so does root's mount
# for a user.
# longer
. "$(dirname "$0")/../lib.sh"
if [ "$(id -u)" = 0 ] && [ -z "${KIT_DONE-}" ]; then
    need_fuse
    stack
    cases='[!p]*'
    [ -n "${TEST_LONG-}" ] || cases='@(acl|attributes|times|xattrs|special)/*'
    out=$("$WINDLASS" conform --mount --as user --directory "$TEST_DIR" --case "$cases" "$VOL") ||
        fail "$out"
    echo "root's mount: $(tail -n 1 <<<"$out")"
    rm -f "$VOL"
    export KIT_DONE=1
fi
drop_root
need_command fusermount3

cases='[!pr]*/*'
[ -n "${TEST_LONG-}" ] || cases='@(data|links|mapped|unlinked|acl|attributes)/*'

# compare WHAT: the graph in $VOL.
compare () {
    out=$("$WINDLASS" conform --mount --directory "$TEST_DIR" --case "$cases" "$VOL") ||
        fail "differs from the bare directory: $1: $out"
    echo "$1: $(tail -n 1 <<<"$out")"
}

stack
compare "posix alone"

stack encryption/rot-13
compare "below rot-13"

POSIX_OPTIONS="descriptor-cache=4" stack
compare "with a small cache of descriptors"
