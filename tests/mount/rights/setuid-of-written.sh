#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user that writes to a setuid program of root's takes setuid away, however the write comes: ls
# and execve(2) see that as soon as the write has returned, and what the user wrote does not run as
# root. A user that may not write to the file takes nothing away, though other processes have it
# open to write.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv dd python3

as () {
    setpriv --reuid 1001 --regid 1001 --clear-groups "$@"
}

program=$(command -v id)
size=$(stat -L -c %s "$program")

# prepare: root's setuid program that all may write to, which the kernel has been told of.
prepare () {
    cp "$program" "$MNT/p"
    chmod 4777 "$MNT/p"
    expect "the mode before" 4777 "$(stat -c %a "$MNT/p")"
}

is_harmless () { # HOW
    expect "the mode after $1" 777 "$(stat -c %a "$MNT/p")"
    expect "the uid that the program has after $1" 1001 "$(as "$MNT/p" -u)"
}

try_all () { # STACK
    prepare
    as dd if="$program" of="$MNT/p" bs=4096 conv=notrunc oflag=direct status=none ||
        fail "$1: no direct write"
    is_harmless "a direct write, $1"
    prepare
    as sh -c "echo >>'$MNT/p'"
    is_harmless "appending, $1"
    prepare
    exec 8<"$MNT/p"
    as dd if="$program" of="$MNT/p" bs=64k conv=notrunc status=none
    is_harmless "a write while root has it open, $1"
    as dd if="$program" of="$MNT/p" bs=4096 count=1 conv=notrunc oflag=direct status=none
    is_harmless "a direct write while root has it open, $1"
    exec 8<&-
    prepare
    as dd if="$program" of="$MNT/p" bs=64k conv=notrunc status=none
    is_harmless "a plain write, $1"
    prepare
    as truncate -s $((size + 4096)) "$MNT/p"
    is_harmless "truncate, $1"
    prepare
    as fallocate -o "$size" -l 4096 "$MNT/p"
    is_harmless "fallocate, $1"
    prepare
    as sh -c ": >'$MNT/p'"
    expect "the mode after O_TRUNC, $1" 777 "$(stat -c %a "$MNT/p")"
    # Root's own writes leave it.
    prepare
    dd if="$program" of="$MNT/p" bs=4096 conv=notrunc oflag=direct status=none
    expect "the mode after root's write, $1" 4777 "$(stat -c %a "$MNT/p")"
}

# try_stranger HOW: chown (program, -1, -1) by a user, while root or its owner has it open to write.
try_stranger () {
    local mode
    for mode in 4755 2755; do
        cp "$program" "$MNT/p"
        [ "$1" = after ] || exec 8>>"$MNT/p"
        chmod $mode "$MNT/p"
        [ "$1" = before ] || exec 8>>"$MNT/p"
        # Where the kernel writes the file itself it is EPERM, as in the bare directory; else
        # nothing happens, without an error.
        as /usr/bin/python3 -c 'import os, sys; os.chown (sys.argv[1], -1, -1)' "$MNT/p" 2>/dev/null
        expect "the mode after a stranger's chown, $1" $mode "$(stat -c %a "$MNT/p")"
        echo >&8
        expect "the mode after root's write, $1" $mode "$(stat -c %a "$MNT/p")"
        as sh -c "echo >>'$MNT/p'" 2>/dev/null && fail "a stranger writes"
        exec 8>&-
        /usr/bin/python3 -c 'import os, sys; os.chown (sys.argv[1], -1, -1)' "$MNT/p"
        expect "the mode after root's chown, $1" 755 "$(stat -c %a "$MNT/p")"
    done
}

: >probe && dd if=/dev/zero of=probe bs=4096 count=1 oflag=direct status=none 2>/dev/null ||
    skip "needs O_DIRECT on the file system of $TEST_DIR"
for layers in "" encryption/rot-13; do
    # shellcheck disable=SC2086 # none is none
    stack $layers
    for options in "" --exclusive --direct-io-mode=on; do
        # shellcheck disable=SC2086
        mount_volfile "$VOL" -o suid $options
        # rot-13 is its own inverse through the mount: what is copied in is what runs.
        try_all "${layers:-storage alone} $options"
        unmount
        rm -f "$BACK"/*
    done
    for PASSTHROUGH in off auto; do
        mount_volfile "$VOL"
        try_stranger before
        try_stranger after
        unmount
        rm -f "$BACK"/*
    done
    PASSTHROUGH=off
done
