#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# layout gluster, with access control lists: the folders and files that GlusterFS 10's trash and ours
# make of the same tree have the same modes and lists.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command glusterfs
need_command setfacl

# operations MOUNT FOLDER: what FOLDER has, of which MOUNT shows all.
operations () (
    umask 027
    mkdir -p "$2"/{masked/below,default/below,none,setgid/below,wide/below}
    setfacl -m u:1:rwx,g:2:rx,m::x "$2/masked"
    setfacl -m u:1:rwx "$2/masked/below"
    setfacl -d -m u:1:rwx,g:2:r "$2/default" "$2/default/below" || return
    chmod 2775 "$2/setgid" "$2/setgid/below"
    chmod 1777 "$2/wide"
    for folder in masked masked/below default default/below none setgid/below wide/below; do
        echo "$folder" >"$2/$folder/file"
    done
    setfacl -m u:1:rw "$2/none/file"
    for folder in masked masked/below default default/below none setgid/below wide/below; do
        rm "$1/$folder/file"
    done
    # What the trash's own directory would hand down.
    setfacl -d -m u:3:rwx "$2/.trashcan"
    mkdir -p "$2/late/masked"
    setfacl -m u:1:rwx,m::x "$2/late/masked"
    echo late >"$2/late/file"
    cp "$2/late/file" "$2/late/masked"
    rm "$1/late/file" "$1/late/masked/file"
)

# lists FOLDER: modes, owners and lists of the trash in FOLDER, without times.
lists () (
    cd "$1" || exit 1
    find .trashcan | sort | getfacl -p - |
        sed -E 's/_20[0-9]{2}-[0-9]{2}-[0-9]{2}_[0-9]{6}_\+0000( |$)/_TIME\1/'
)

mkdir stock.d
touch stock.d/probe
setfacl -m u:1:r stock.d/probe 2>/dev/null || skip "needs a file system with lists"
rm stock.d/probe
gluster_mount '    option trash on
    option trash-dir .trashcan'
operations "$TEST_DIR/stock" "$TEST_DIR/stock.d"
umount "$TEST_DIR/stock"

mount_like_gluster
wait_until '[ -d "$BACK/.trashcan" ]'
operations "$MNT" "$BACK"
unmount
lists stock.d >stock.lists
lists "$BACK" >lists
diff stock.lists lists || fail "the modes and lists are others"
expect_match "a file in it" '_TIME' "$(cat lists)"
