#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# System calls of every kind come to the same through a mount as on the bare directory, however it is mounted.
# builds: debug release asan tsan
# timeout: 300
. "$(dirname "$0")/lib.sh"
need_root

mkdir bare
"$PROGRAMS/ops" bare >expected
expect_match "what ops does" '^--- others$' "$(cat expected)"

# compare WHAT [BY-DESIGN]: with the graph in $VOL mounted, or but for the lines that the regular expression matches.
compare () {
    "$PROGRAMS/ops" "$MNT" >got
    unmount
    diff <(grep -Ev -- "${2:-^$}" expected) <(grep -Ev -- "${2:-^$}" got) || fail "differs from the bare directory: $1"
    rm -rf --one-file-system "$BACK"
    mkdir "$BACK"
}

stack
mount_volfile "$VOL"
compare "posix alone"

stack encryption/rot-13
mount_volfile "$VOL"
compare "below rot-13, whose data is turned there and back"

stack
mount_volfile "$VOL" --kernel-writeback-cache=on
# Data that the kernel still holds would look like a hole to the daemon, so all of a file is data then.
compare "with the kernel's writeback cache" '^(data is at the end|a hole at the start): '

mount_volfile "$VOL" --direct-io-mode=on
compare "past the kernel's page cache"

mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0 --use-readdirp=off --reader-thread-count=1 --fopen-keep-cache=off
compare "without caches, with one thread"

POSIX_OPTIONS="handles=descriptor descriptor-cache=4" stack
mount_volfile "$VOL"
compare "with files found by name and descriptor, and hardly any kept"

POSIX_OPTIONS="gfid=xattr" stack
mount_volfile "$VOL"
compare "with gfids stored"
