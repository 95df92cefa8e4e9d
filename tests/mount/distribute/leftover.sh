#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A stale linkto does not stand in the way of a directory of its name: the directory is made and
# filled on all bricks, found again, renamed onto, and removed.
# through: device
. "$(dirname "$0")/../brick/lib.sh"
need_command getfattr setfattr
for name in a b; do
    brick $name
done
distribute_volfile "$VOL" a b
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0 --negative-timeout=0

number=0
# Sets $name to a new name whose hash brick $1 has.
new_on () {
    while
        number=$((number + 1))
        [ "$(getfattr --absolute-names --only-values -n "dht.file.hashed-subvol.n$number" "$MNT")" != \
            "c-$1" ]
    do :; done
    name=n$number
}

# forget BRICK NAME: the brick does not know what has the name by its gfid any more.
forget () {
    local gfid
    gfid=$(getfattr -n trusted.gfid -e hex "$1.d/$2" | sed -n 's/^trusted.gfid=0x//p')
    rm "$1.d/.glusterfs/${gfid:0:2}/${gfid:2:2}"/*-"${gfid:20}"
}

# leave_linkto BRICK NAME: the brick has a linkto of the name, and no brick has its file.
leave_linkto () {
    local brick=$1 wanted=$2 other=a file
    [ "$brick" = b ] || other=b
    new_on $other
    echo text >"$MNT/$name"
    file=$name
    new_on "$brick"
    mv "$MNT/$file" "$MNT/$name"
    forget $other "$name"
    rm "$other.d/$name"
    mv "$brick.d/$name" "$brick.d/$wanted"
    getfattr -n trusted.glusterfs.dht.linkto "$brick.d/$wanted" >/dev/null 2>&1 ||
        fail "$wanted is no linkto on $brick"
}

# is_whole NAME: the directory can be filled, each brick has a part, and it can be removed.
is_whole () {
    local i
    for i in {1..20}; do
        echo $i >"$MNT/$1/$i" || fail "$1/$i can't be made"
    done
    for brick in a b; do
        [ "$(find $brick.d/$1 -type f | wc -l)" -gt 2 ] || fail "$brick has no files of $1"
    done
    expect "the files of $1" 20 "$(ls "$MNT/$1" | wc -l)"
    expect_ok rm -r "$MNT/$1"
    expect "what bricks have of $1" "" "$(ls -d {a,b}.d/$1 2>/dev/null)"
}

# A directory is made where another brick has the linkto.
new_on a
made=$name
leave_linkto b $made
expect_ok mkdir "$MNT/$made"
is_whole $made

# One brick has the directory, the other the linkto: the brick of the name's hash, and the other.
for stale in a b; do
    new_on a
    found=$name
    expect_ok mkdir "$MNT/$found"
    forget $stale $found
    rmdir $stale.d/$found
    leave_linkto $stale $found
    expect_ok ls "$MNT/$found"
    is_whole $found
done

# A directory is renamed to the name of one.
new_on a
target=$name
leave_linkto b $target
expect_ok mkdir "$MNT/source"
expect_ok mv -T "$MNT/source" "$MNT/$target"
is_whole $target
unmount
