#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Extended attributes that GlusterFS's clients make up, or refuse: a stock client answers the same.
# Which bricks have a file or a directory, also while the file is open and while a brick is down;
# the identity of an inode; and what belongs to GlusterFS itself.
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster glusterfs getfattr setfattr
server=127.1.1.1

glusterd_begin $server
expect_ok gluster_do volume create dr replica 2 $server:"$TEST_DIR"/r{0..3}.d force
expect_ok gluster_do volume start dr
mkdir stock
glusterfs -s $server --volfile-id=dr -l "$TEST_DIR/stock.log" "$TEST_DIR/stock"
wait_until "mkdir -p stock/dir 2>/dev/null"
echo text >stock/dir/file
wait_until "volume_start $server:/dr '$MNT'"

# attribute MOUNT PATH NAME
attribute () {
    getfattr --only-values --absolute-names -n "$3" "$1/$2" 2>&1
}
# words: what stands in brackets is in no order
words () {
    tr -d '()' <<<"$1" | tr ' ' '\n' | sort
}
# same PATH NAME: both clients answer with the same words
same () {
    local ours
    ours=$(attribute "$MNT" "$1" "$2")
    expect "$2 of $1" "$(words "$(attribute stock "$1" "$2")")" "$(words "$ours")"
}

brick='<POSIX\([^ ]*r[0-3].d\):[^ ]*:[^ ]*r[0-3].d/[^ ]*>'
copies="\\(<REPLICATE:dr-replicate-[01]> $brick $brick\\)"
file_has="^\\(<DISTRIBUTE:dr-dht> $copies\\)\$"
of_dir="^\\(\\(<DISTRIBUTE:dr-dht> $copies $copies\\) \\(dr-dht-layout"
of_dir+=' \(dr-replicate-0 [0-9]+ [0-9]+\) \(dr-replicate-1 [0-9]+ [0-9]+\)\)\)$'
for name in trusted.glusterfs.pathinfo glusterfs.pathinfo; do
    same dir/file $name
    same dir $name
    same . $name
    expect_match "$name" "$file_has" "$(attribute "$MNT" dir/file $name)"
    expect_match "$name" "$of_dir" "$(attribute "$MNT" dir $name)"
done
same dir/file replica.split-brain-status
expect_match "the status" '^The file is not under data or metadata split-brain$' \
    "$(attribute "$MNT" dir/file replica.split-brain-status)"

# Samba asks for the name that differs in upper and lower case only, whichever brick has it.
for i in {1..8}; do
    echo text >"$MNT/dir/Name$i"
    for mount in stock "$MNT"; do
        expect "the real name of nAmE$i" Name$i \
            "$(attribute "$mount" dir glusterfs.get_real_filename:nAmE$i | tr -d '\0')"
    done
done
for mount in stock "$MNT"; do
    expect_match "a name that is not there" ': No such attribute$' \
        "$(attribute "$mount" dir glusterfs.get_real_filename:none)"
    expect_match "a name in a file" ': Not a directory$' \
        "$(attribute "$mount" dir/file glusterfs.get_real_filename:none)"
done

exec 7<>"$MNT/dir/file"
same dir/file trusted.glusterfs.pathinfo
same dir/file trusted.glusterfs.node-uuid
same dir/file replica.split-brain-status
exec 7>&-

# The identity of an inode, in bytes and as text.
for path in . dir dir/file; do
    expect "the gfid of $path" "$(attribute stock $path glusterfs.gfid | od -tx1)" \
        "$(attribute "$MNT" $path glusterfs.gfid | od -tx1)"
    same $path glusterfs.gfid.string
done

# What belongs to GlusterFS itself is not for callers, nor to be removed.
for name in trusted.gfid trusted.glusterfs.volume-id trusted.afr.dirty trusted.glusterfs.afr.x \
    trusted.glusterfs.dht trusted.glusterfs.dht.linkto; do
    for path in dir dir/file; do
        for mount in stock "$MNT"; do
            expect_error 'Operation not permitted' setfattr -n $name -v value "$mount/$path"
            expect_error 'Operation not permitted' setfattr -x $name "$mount/$path"
        done
    done
done
expect_ok setfattr -n trusted.mine -v value "$MNT/dir/file"
expect "an attribute of root's" value "$(attribute stock dir/file trusted.mine)"

# A brick that is down is not named.
pid=$(gluster_do volume status dr $server:"$TEST_DIR/r0.d" detail | awk '/^Pid/ { print $3 }')
kill -9 "$pid"
wait_until "! attribute '$MNT' dir trusted.glusterfs.pathinfo | grep -q r0.d"
wait_until "! attribute stock dir trusted.glusterfs.pathinfo | grep -q r0.d"
same dir trusted.glusterfs.pathinfo
same . trusted.glusterfs.pathinfo
umount stock
unmount

# A volume of one brick says no more than the brick does.
expect_ok gluster_do volume create one $server:"$TEST_DIR/r4.d" force
expect_ok gluster_do volume start one
glusterfs -s $server --volfile-id=one -l "$TEST_DIR/stock.log" "$TEST_DIR/stock"
wait_until "mkdir -p stock/dir 2>/dev/null"
wait_until "volume_start $server:/one '$MNT'"
same dir trusted.glusterfs.pathinfo
same . glusterfs.pathinfo
umount stock
unmount
