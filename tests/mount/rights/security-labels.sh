#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A file without a security label: where the kernel runs no SELinux, labels are said to be
# unsupported, so that ls(1) stops asking. Labels that exist are passed on.
. "$(dirname "$0")/../lib.sh"
need_root
need_fuse
need_command setfattr getfattr
[ ! -e /sys/fs/selinux/enforce ] || skip "needs a kernel without SELinux"

label () {
    getfattr --only-values -n security.selinux "$MNT/$1"
}

stack
touch "$BACK/plain" "$BACK/labelled"
setfattr -n security.selinux -v a:b:c:s0 "$BACK/labelled" 2>/dev/null ||
    skip "the file system has no security labels"

mount_volfile "$VOL"
expect_error 'Operation not supported' label plain
expect "the label of a file that has one" "a:b:c:s0" "$(label labelled)"
setfattr -n security.selinux -v d:e:f:s0 "$MNT/plain"
expect "a label that was set through the mount" "d:e:f:s0" "$(label plain)"
setfattr -x security.selinux "$MNT/plain"
expect_error 'Operation not supported' label plain
expect_error 'No such attribute' getfattr -n security.other "$MNT/plain"
unmount

mount_volfile "$VOL" --selinux=on
expect_error 'No such attribute' label plain
expect "the label of a file that has one" "a:b:c:s0" "$(label labelled)"
unmount
