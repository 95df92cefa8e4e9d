#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A change of a file that another client moves to another brick is in the file afterwards, even if
# the move ends while the change is on its way, in whatever way. The test makes the steps of a
# rebalance itself, through mounts of the single bricks, while debug/fault holds a request of
# distribute back.
# through: device
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterfs getfattr setfattr setpriv

linkto=trusted.glusterfs.dht.linkto
for name in a b; do
    brick $name
    brick_volfile $name
    mkdir "on-$name"
    "$WINDLASS" -f "$VOL" -l "$LOG" --attribute-timeout=0 --entry-timeout=0 "on-$name" ||
        fail "$name is not mounted"
done
distribute_volfile stock.vol a b
mkdir stock
glusterfs -f stock.vol -l "$TEST_DIR/stock.log" --entry-timeout=0 --attribute-timeout=0 \
    "$TEST_DIR/stock" || fail "the stock client does not mount"
sed 's/^volume c-\(.*\)/volume raw-\1/; /^volume all/,$d' stock.vol >"$VOL"
for name in a b; do
    printf 'volume c-%s\n type debug/fault\n subvolumes raw-%s\nend-volume\n' $name $name >>"$VOL"
done
sed -n '/^volume all/,$p' stock.vol >>"$VOL"
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0

number=0
new_on () {
    while
        name=n$((number += 1))
        [ "$(getfattr --only-values -n dht.file.hashed-subvol.$name mnt)" != "c-$1" ]
    do :; done
}

# Makes $file with 10 bytes, which are on a; its hash is on b.
make_elsewhere () {
    new_on a
    local first=$name
    printf 0123456789 >"$MNT/$first"
    new_on b
    file=$name
    mv "$MNT/$first" "$MNT/$file"
    [ -s a.d/$file ] && [ -e b.d/$file ] || fail "$file is not on a"
}

# The steps of a rebalance: it makes the copy as long as the file, marks the file, copies it, makes
# the copy the file, and the file a linkto, which it removes.
copy_begins () {
    truncate -s "$(stat -c %s on-a/$file)" on-b/$file
    setfattr -n $linkto -v c-b on-a/$file
    chmod 3644 on-a/$file
    cat on-a/$file >on-b/$file
}

copy_becomes_the_file () {
    chmod 644 on-b/$file
    chmod 1000 on-a/$file
    truncate -s 0 on-a/$file
    setfattr -x $linkto on-b/$file
    rm on-a/$file
}

copy_is_given_up () {
    chmod 644 on-a/$file
    setfattr -x $linkto on-a/$file
    truncate -s 0 on-b/$file
}

# held BRICK REQUESTS COMMAND...: runs the command in the background until such a request is held
# back. Those of distribute itself have a process number that no process has.
own='pid 4294967295..'
held () {
    held_on=c-$1
    echo "$2 -> hang" >rules
    expect_ok "$WINDLASS" fault --volume=$held_on "$MNT" rules
    shift 2
    "$@" &
    held=$!
    wait_until "'$WINDLASS' fault --volume=$held_on '$MNT' --show | grep -q 'fired 1'"
}

go_on () {
    expect_ok "$WINDLASS" fault --volume=$held_on "$MNT" --clear
    wait $held || fail "the change of $file failed"
}

# The stock client does what a rebalance does with each file.
move () {
    setfattr -n trusted.distribute.migrate-data -v force stock/$file
    [ -s b.d/$file ] && [ ! -e a.d/$file ] || fail "$file was not moved"
}

content () {
    tr "\\0" 0 <stock/$file
}

# By its path: a brick that has a file open has it still when it is removed.
shorten () {
    python3 -c 'import os, sys; os.truncate (sys.argv[1], int (sys.argv[2]))' "$MNT/$file" "$1"
}

overwrite () {
    printf new | dd of="$MNT/$file" bs=1 seek=8 conv=notrunc status=none
}

# The move ends before distribute has asked where to.
make_elsewhere
copy_begins
held a "getxattr $own" shorten 4
copy_becomes_the_file
go_on
expect "the file that was made shorter" 0123 "$(content)"

make_elsewhere
copy_begins
held a "getxattr $own" overwrite
copy_becomes_the_file
go_on
expect "the file that was written" 01234567new "$(content)"

# Another client even removes the file then.
make_elsewhere
copy_begins
held a "inodelk $own" overwrite
copy_becomes_the_file
expect_ok rm stock/$file
go_on

# The rebalance has given the copy up before distribute has protected it. The next move begins with
# what it finds there.
make_elsewhere
copy_begins
held b "setxattr $own" shorten 6
copy_is_given_up
go_on
expect "the bytes that remain of the copy" 0 "$(stat -c %s b.d/$file)"
shorten 3
move
expect "the file that was made shorter" 012 "$(content)"

make_elsewhere
copy_begins
held b "setxattr $own" overwrite
copy_is_given_up
go_on
expect "the bytes that remain of the copy" 0 "$(stat -c %s b.d/$file)"
shorten 3
move
expect "the file that was written" 012 "$(content)"

# A new mode while a move ends, and while the rebalance gives the copy up.
make_elsewhere
copy_begins
held a "getxattr $own" chmod 600 "$MNT/$file"
copy_becomes_the_file
go_on
expect "the mode" 600 "$(stat -c %a b.d/$file)"

make_elsewhere
copy_begins
held a "setattr $own" chmod 600 "$MNT/$file"
copy_is_given_up
go_on
expect "the mode" 600 "$(stat -c %a a.d/$file)"
# A new mode comes when the file has just moved, from distribute or from the caller, while it is
# open: what remains on the first brick must not look like a file.
for requests in "setattr $own" setattr; do
    make_elsewhere
    exec 9<>"$MNT/$file"
    [ "$requests" = setattr ] || copy_begins
    held a "$requests" chmod 600 "$MNT/$file"
    [ "$requests" != setattr ] || copy_begins
    copy_becomes_the_file
    go_on
    expect "the mode" 600 "$(stat -c %a b.d/$file)"
    printf new >&9
    expect "what was written afterwards" new3456789 "$(content)"
    exec 9>&-
done
# A file that moved away while it was open here comes back as a linkto, by another client's rename.
# What is written before or after that goes to the file, and nothing of it stays for the next move.
for written in before after; do
    make_elsewhere
    exec 9<>"$MNT/$file"
    move
    [ $written = after ] || printf new >&9
    new_on a
    mv stock/$file stock/$name
    file=$name
    [ -e a.d/$file ] && [ -s b.d/$file ] || fail "$file has no linkto on a"
    [ $written = before ] || printf new >&9
    expect "what was written" new3456789 "$(content)"
    expect "the bytes of the linkto" 0 "$(stat -c %s a.d/$file)"
    exec 9>&-
    shorten 2
    setfattr -n trusted.distribute.migrate-data -v force stock/$file
    expect "what came back" ne "$(content)"
    expect "its size" 2 "$(stat -c %s a.d/$file)"
done

# A file is removed while it is copied to where its name has its hash by a layout that this mount
# does not know yet: the copy goes, too, and does not become the file. The caller may not even be
# allowed to open it.
chmod 1777 "$MNT"
as_owner=(setpriv --reuid 1001 --regid 1001 --clear-groups)
for mode in 644 0; do
    make_elsewhere
    chown 1001:1001 "$MNT/$file"
    new_on a
    mv on-a/$file on-a/$name
    mv on-b/$file on-b/$name
    file=$name
    copy_begins
    chmod $((3000 + mode)) on-a/$file
    expect_ok "${as_owner[@]}" rm -f "$MNT/$file"
    expect "what is on the bricks" "" "$(ls -d a.d/$file b.d/$file 2>/dev/null)"
done
umount stock
unmount
