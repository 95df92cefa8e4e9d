#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Setuid programs and programs with capabilities run without them in a mount, unless root said -o
# suid; then they run as on the bare directory. A caller can give a file only what it can give it
# there.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv setfattr

as () {
    setpriv --reuid 1001 --regid 1001 --clear-groups "$@" 2>&1
}

# The effective uid and capabilities of a program that is setuid, and of one with CAP_CHOWN.
gains () {
    as "$1/uid" -u
    as "$1/capable" '^CapEff' /proc/self/status | cut -f2
}

# give FILE: what a user gives to his own file, and to root's.
give () {
    for file in own root; do
        as chmod 4755 "$1/$file" >/dev/null
        echo "chmod of $file: $?"
        as setfattr -n security.capability -v 0x0100000201000000000000000000000000000000 \
            "$1/$file" >/dev/null
        echo "setcap of $file: $?"
        as chown 0 "$1/$file" >/dev/null
        echo "chown of $file: $?"
    done
    stat -c '%A %u' "$1/own" "$1/root"
}

fill () {
    cp "$(command -v id)" "$1/uid"
    cp "$(command -v grep)" "$1/capable"
    chmod 4755 "$1/uid"
    setfattr -n security.capability -v 0x0100000201000000000000000000000000000000 "$1/capable"
    : >"$1/own" && chown 1001 "$1/own"
    : >"$1/root"
}

# Where /tmp is mounted nosuid the bare directory has nothing to compare with.
mkdir bare
fill bare
[ "$(gains bare)" = $'0\n0000000000000001' ] ||
    skip "needs setuid programs and file capabilities on the file system of $TEST_DIR"
give bare >expected

stack
mount_volfile "$VOL"
fill "$MNT"
expect "what programs gain in a mount" $'1001\n0000000000000000' "$(gains "$MNT")"
expect "what a user can give" "$(cat expected)" "$(give "$MNT")"
unmount
rm "$BACK"/*
mount_volfile "$VOL" -o suid
fill "$MNT"
expect "what programs gain with -o suid" "$(gains bare)" "$(gains "$MNT")"
expect "what a user can give with -o suid" "$(cat expected)" "$(give "$MNT")"
