#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Root of a user namespace is on a mount the user that it is outside, and as root there it has its
# rights of the bare directory.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv unshare
inside () {
    setpriv --reuid 1001 --regid 2001 --groups 3000 unshare --user --map-root-user \
        bash -c "$1" 2>&1 |
        sed "s/^bash: line [0-9]*: //"
    echo "$1: ${PIPESTATUS[0]}"
}
setpriv --reuid 1001 --regid 2001 --clear-groups unshare --user --map-root-user true 2>/dev/null ||
    skip "needs user namespaces"

attempts () {
    cd "$1" || exit 1
    mkdir open
    chmod 777 open
    echo secret >root
    echo theirs >group
    chmod 600 root
    chown 0:3000 group
    chmod 660 group
    inside 'id -u; cat root; echo x >>root; rm root; chmod 666 root; chown 0 root'
    inside 'cat group; echo more >>group'
    inside 'echo mine >open/mine; mkdir open/dir; stat -c %u open/mine
        chown 0:0 open/mine; chmod 4755 open/mine'
    inside 'chown 1 open/mine; mknod open/device c 1 3; mknod open/pipe p'
    inside 'setfattr -n trusted.x -v 1 open/mine; setfattr -n user.x -v 1 open/mine
        getfattr -dm- open/mine'
    inside 'mkdir -m 700 open/private; echo x >open/private/x; ln root open/root; mv root open/'
    find . -printf '%P %M %U:%G %n %s\n' | sort
    cd "$TEST_DIR" || exit 1
}

mkdir bare
attempts bare >expected
expect_match "who it is outside" '^open/mine .* 1001:2001 ' "$(cat expected)"
stack
mount_volfile "$VOL"
attempts "$MNT" >got
diff expected got ||
    fail "root of a user namespace may do something else than on the bare directory"
