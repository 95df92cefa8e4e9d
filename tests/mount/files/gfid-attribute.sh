#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The extended attributes glusterfs.gfid and glusterfs.gfid.string have the identity of every
# inode, on any storage, and are not listed. On a directory of this machine, attributes that
# GlusterFS's servers keep for themselves are like any other.
. "$(dirname "$0")/../lib.sh"
need_root
need_fuse
need_command getfattr setfattr

# attribute NAME FILE ENCODING
attribute () {
    getfattr --only-values --absolute-names -e "$3" -n "$1" "$MNT/$2"
}

stack
mount_volfile "$VOL"
mkdir "$MNT/dir"
touch "$MNT/file"
ln "$MNT/file" "$MNT/dir/link"
expect "the gfid of the root" 00000000-0000-0000-0000-000000000001 \
    "$(attribute glusterfs.gfid.string . text)"
for file in dir file; do
    text=$(attribute glusterfs.gfid.string $file text)
    expect_match "the gfid of $file" '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' "$text"
    bytes=$(attribute glusterfs.gfid $file text | od -An -tx1 | tr -d ' \n')
    expect "the gfid of $file in bytes" "${text//-/}" "$bytes"
done
expect "the gfid by another name" "$text" "$(attribute glusterfs.gfid.string dir/link text)"
expect "the list" "" "$(getfattr --absolute-names -m - "$MNT/file")"
expect_error 'Operation not supported' setfattr -n glusterfs.gfid -v value "$MNT/file"

setfattr -n trusted.gfid -v value "$BACK/file" 2>/dev/null || skip "needs trusted attributes"
expect_ok setfattr -n trusted.gfid -v other "$MNT/file"
expect "an attribute like any other" other "$(attribute trusted.gfid file text)"
expect_ok setfattr -x trusted.gfid "$MNT/file"
unmount
