#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A tree of every type of file, with attributes and ACLs, goes through tar onto a mount and off
# again unchanged.
. "$(dirname "$0")/../lib.sh"
need_root
need_command tar setfattr setfacl getfacl

mkdir -p tree/dir/sub out
echo text >tree/file
ln tree/file tree/dir/other-name
ln -s ../file tree/dir/link
mkfifo -m 640 tree/fifo
mknod -m 600 tree/null c 1 3
mknod -m 600 tree/block b 7 200
truncate -s 1M tree/sparse
printf 'odd' >tree/$'na\nme\xff'
chown 1234:5678 tree/file
chmod 4755 tree/file
chmod 1777 tree/dir
setfattr -n user.colour -v green tree/file
setfattr -n trusted.secret -v 0x000102 tree/dir
setfattr -n security.capability -v 0x0100000200200000000000000000000000000000 tree/sparse
setfacl -m u:65534:rwx,g:77:r tree/file
setfacl -d -m u:65534:rx tree/dir/sub
touch -hd '2001-02-03 04:05:06.123456789' tree/file tree/dir/link tree/dir/sub tree/sparse

# All that describes a tree, but for inode numbers; a directory's size and links are the file
# system's.
describe () {
    (
        cd "$1" || exit 1
        find . -type d -printf '%p %M %U %G %T@\n' -o -printf '%p %M %U %G %T@ %n %s %l\n' | sort
        find . -print0 | sort -z | xargs -0 getfattr -hd -m -
        find . ! -type l -print0 | sort -z | xargs -0 getfacl -n
        find . -type f -print0 | sort -z | xargs -0 md5sum
        stat -c '%t:%T' null block
    ) 2>&1
}
keep=(--xattrs '--xattrs-include=*' --acls --numeric-owner --same-owner -p)

stack
mount_volfile "$VOL"
tar "${keep[@]}" -cf tree.tar tree || fail "tar can't read the tree"
tar "${keep[@]}" -xf tree.tar -C "$MNT" || fail "tar can't write to the mount"
expect "the tree on the mount" "$(describe tree)" "$(describe "$MNT/tree")"
tar "${keep[@]}" -C "$MNT" -cf again.tar tree || fail "tar can't read the mount"
tar "${keep[@]}" -xf again.tar -C out || fail "tar can't write the tree"
expect "the tree that came back" "$(describe tree)" "$(describe out/tree)"
unmount
expect "the tree in the directory" "$(describe tree)" "$(describe "$BACK/tree")"
