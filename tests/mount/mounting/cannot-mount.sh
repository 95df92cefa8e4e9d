#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mount that the machine does not allow: the message names the cause and what to do.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"
need_root
let_users_mount
need_command setpriv unshare

# refused REGEX SETUP COMMAND...: in a mount namespace of its own, after SETUP.
refused () {
    local regex=$1 setup=$2
    shift 2
    rm -f logs/log
    unshare -m bash -c "$setup"' && exec "$@"' - "$@" -f "$VOL" -l logs/log "$MNT" >out 2>&1
    expect "the exit status for '$setup'" 1 $?
    expect_match "what is said of '$setup'" "can't mount .*; .*$regex" "$(cat out)"
    expect "how often for '$setup'" 1 "$(grep -c "can't mount" out)"
    ! is_mounted || fail "it is mounted all the same"
}

as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$TEST_DIR")
chmod 755 "$TEST_DIR"
chown 65534:65534 "$BACK" "$MNT"
mkdir -m 777 logs
mkdir room
tool=$(command -v fusermount3)
stack

new_dev='mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3'
refused "there is no /dev/fuse .*modprobe fuse.*--device /dev/fuse" "$new_dev" "$WINDLASS"
refused "there is no /dev/fuse" "$new_dev" "${as_user[@]}" "$WINDLASS" -o allow_other
expect_no_match "the wrong cause" user_allow_other "$(cat out)"
refused "not the device of FUSE" "mount --bind /dev/null /dev/fuse" "$WINDLASS"
device='mount -t tmpfs none room && mknod room/fuse c 10 229 && mount --bind room/fuse /dev/fuse'
refused "user 65534 may not open /dev/fuse, which has mode 0600 and owner 0: .*chmod 666" \
    "$device && chmod 600 room/fuse" "${as_user[@]}" "$WINDLASS"
refused "/dev/fuse lies in a file system mounted with 'nodev'" \
    "${device/tmpfs/tmpfs -o nodev} && chmod 666 room/fuse" "$WINDLASS"
refused "root has no CAP_SYS_ADMIN here.*--cap-add SYS_ADMIN" true \
    setpriv --bounding-set -sys_admin "$WINDLASS"
# In a chroot, the kernel makes no user namespaces.
! unshare -Ur true 2>/dev/null ||
    refused "a mount namespace of its own .unshare -Urm" true unshare -Ur "$WINDLASS"
refused "users mount through fusermount3.* package is called fuse3" \
    "mount --bind /dev/null '$tool'" "${as_user[@]}" "$WINDLASS"
refused "no_new_privs" true "${as_user[@]}" setpriv --no-new-privs "$WINDLASS"
refused "$tool must be setuid root" \
    "cp '$tool' room/tool && chmod 755 room room/tool && mount --bind room/tool '$tool'" \
    "${as_user[@]}" "$WINDLASS"
refused "user 4321 has no name, which fusermount3 asks for: .*useradd -u 4321 NAME" \
    "sed /:4321:/d /etc/passwd >room/passwd && mount --bind room/passwd /etc/passwd" \
    "${as_user[@]//65534/4321}" "$WINDLASS"
refused "must be a directory which user 65534 may write" "chown 0:0 '$MNT'" \
    "${as_user[@]}" "$WINDLASS"
refused "owns if it is sticky" "chmod 1777 '$MNT'" "${as_user[@]}" "$WINDLASS"
chmod 755 "$MNT"
chown 65534:65534 "$MNT"
refused "need a line 'user_allow_other' in /etc/fuse.conf, which root can add" \
    "touch room/conf && mount --bind room/conf /etc/fuse.conf" \
    "${as_user[@]}" "$WINDLASS" -o allow_other
