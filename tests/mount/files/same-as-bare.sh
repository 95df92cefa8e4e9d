#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# System calls of every kind have the same result through a mount as on the bare directory, with
# each kind of mount.
# builds: release debug tsan
# longer
. "$(dirname "$0")/../lib.sh"
need_root
need_fuse

# compare WHAT CASES [OPTION...]: the graph in $VOL.
compare () {
    local what=$1 cases=$2
    shift 2
    out=$("$WINDLASS" conform --mount --as root --directory "$TEST_DIR" --case "$cases" "$VOL" \
        "$@") ||
        fail "differs from the bare directory: $what: $out"
    echo "$what: $(tail -n 1 <<<"$out")"
}
# What data and descriptors are about.
some='@(data|offsets|mapped|unlinked|directories|links|concurrent)/*'
rights='@(permissions|privileges|acl|attributes|times|special)/*'

# A sanitizer needs each kind of call only once, not with every argument; and ./check has ten
# minutes.
stack
case $BUILD_NAME${TEST_LONG:+-long} in
debug* | tsan* | release)
    compare "posix alone" "$(amount '@(data|links|xattrs|special|locks|offsets/pw*)*' \
        '@(data|links|xattrs|special|concurrent|locks|privileges|attributes|offsets/p*|paths/* link)*')"
    compare "with the kernel's writeback cache" '@(data|mapped|unlinked|privileges)/*' -- \
        --kernel-writeback-cache=on
    exit
    ;;
esac
compare "posix alone" '*'
compare "with the kernel's writeback cache" "@($some|$rights)" -- --kernel-writeback-cache=on
compare "for mounts with other ids" "@(@(paths|xattrs)/*|$rights)" -- --idmapped-mounts
compare "past the kernel's page cache" "$some" -- --direct-io-mode=on
compare "without caches, with one thread" "$some" -- --attribute-timeout=0 --entry-timeout=0 \
    --use-readdirp=off \
    --reader-thread-count=1 --fopen-keep-cache=off

stack encryption/rot-13
compare "below rot-13, whose data is turned there and back" "$some"

POSIX_OPTIONS="handles=descriptor descriptor-cache=4" stack
compare "with files found by name and descriptor, and hardly any kept" "$some"

POSIX_OPTIONS="gfid=xattr" stack
compare "with gfids stored" "$some"
