#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# ACLs are enforced, inherited instead of the umask, and changed by chmod, as on the bare directory.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setfacl getfacl setpriv

# try WHAT COMMAND: as user 1001, in group 2001
try () {
    setpriv --reuid 1001 --regid 2001 --clear-groups sh -c "umask 077; $2" >/dev/null 2>&1
    echo "$1: $?"
}

acts () {
    cd "$1" || exit 1
    mkdir dir shared closed
    chmod 700 dir closed
    setfacl -m u:1001:rwx dir
    setfacl -d -m u::rwx,u:1002:rw,g::rx,g:2001:rwx,o::r,m::rwx shared
    chmod 777 shared
    echo text >dir/file && chmod 600 dir/file
    setfacl -m u:1001:r dir/file
    try "reading by an ACL" 'cat dir/file'
    try "writing without one" 'echo more >>dir/file'
    try "making by an ACL" 'echo x >dir/x'
    try "a closed directory" 'ls closed'
    try "making below a default ACL" \
        'echo y >shared/y; mkdir shared/d; echo z >shared/d/z; mkfifo shared/p; ln -s y shared/l'
    try "changing the ACL of one's own" 'setfacl -m u:1003:r shared/y'
    try "changing that of another" 'setfacl -m u:1001:rw dir/file'
    chmod 640 shared/d/z
    try "reading after the group's rights became the mask" 'cat shared/d/z'
    setfacl -b dir
    try "reading without the ACL" 'cat dir/file'
    setfacl -k shared
    try "making without a default" 'echo n >shared/n'
    getfacl -Rn . 2>&1
    find . -printf '%P %M %U:%G\n' | sort
    cd "$TEST_DIR" || exit 1
}

mkdir bare
setfacl -m u:1:r bare 2>/dev/null || skip "needs ACLs on the file system of $TEST_DIR"
setfacl -b bare
acts bare >expected
for options in --attribute-timeout=1 --attribute-timeout=0; do
    stack encryption/rot-13
    mount_volfile "$VOL" $options
    acts "$MNT" >got
    diff expected got || fail "ACLs differ from the bare directory ($options)"
    rm -rf "${MNT:?}"/*
    unmount
done
