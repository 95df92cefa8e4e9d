#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A closed directory stays closed while its owner uses it, also where the kernel checks no rights:
# no other user finds what the owner has looked up, whatever the mode of the files in it.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv setfacl

as () { # UID COMMAND...
    setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"
}

chmod 755 "$TEST_DIR" "$BACK"
install -d -m 700 -o 2001 -g 2001 "$BACK/closed"
install -d -m 777 -o 2001 -g 2001 "$BACK/closed/open"
install -m 644 -o 2001 -g 2001 /dev/null "$BACK/closed/file"
echo secret >"$BACK/closed/file"
install -m 666 -o 2001 -g 2001 /dev/null "$BACK/closed/all"
install -d -m 755 -o 2001 -g 2001 "$BACK/by-acl"
echo secret >"$BACK/by-acl/file"
setfacl -m u:2002:r "$BACK/by-acl" || skip "needs ACLs in $TEST_DIR"

try_all () { # HOW
    as 2001 ls -lR "$MNT/closed" "$MNT/by-acl" >/dev/null
    as 2001 cat "$MNT/closed/file" "$MNT/by-acl/file" >/dev/null
    as 2002 cat "$MNT/closed/file" 2>/dev/null &&
        fail "$1: another user reads a file in a closed directory"
    as 2002 sh -c "echo >>'$MNT/closed/all'" 2>/dev/null &&
        fail "$1: another user writes to a file in a closed directory"
    as 2002 touch "$MNT/closed/open/new" 2>/dev/null &&
        fail "$1: another user makes a file below a closed directory"
    as 2002 stat "$MNT/closed/missing" 2>&1 | grep -q denied ||
        fail "$1: another user learns which names there are"
    as 2002 cat "$MNT/by-acl/file" 2>/dev/null && fail "$1: an ACL without x lets a user through"
    expect "$1: what the owner reads" secret "$(as 2001 cat "$MNT/closed/file")"
}

stack
for options in "" "-o no_default_permissions" "--exclusive -o no_default_permissions"; do
    # shellcheck disable=SC2086
    mount_volfile "$VOL" $options
    try_all "${options:-as it is}"
    unmount
done
stack system/posix-acl
mount_volfile "$VOL" --acl=translator
try_all acl=translator
unmount
expect_error "entry-timeout' must be 0 with no_default_permissions" \
    "$WINDLASS" -f "$VOL" -l "$LOG" --entry-timeout=5 -o no_default_permissions "$MNT"
