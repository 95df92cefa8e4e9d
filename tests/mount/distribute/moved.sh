#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A file that another client moves to another brick while it is open here goes on as before: it is
# read and written through the old descriptor, locked where it is now, and can be used until it is
# closed after it was removed or replaced. What is done on it by name is done where it is.
# through: device
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterfs getfattr setfattr

for name in a b; do
    brick $name
done
distribute_volfile "$VOL" a b
mkdir stock
glusterfs -f "$VOL" -l "$TEST_DIR/stock.log" --entry-timeout=0 --attribute-timeout=0 \
    "$TEST_DIR/stock" || fail "the stock client does not mount"
mount_volfile "$VOL"

number=0
new_on () {
    while
        number=$((number + 1))
        [ "$(getfattr --absolute-names --only-values -n "dht.file.hashed-subvol.n$number" "$MNT")" != \
            "c-$1" ]
    do :; done
    name=n$number
}

# Makes $file, whose data are on a, and whose hash is on b.
make_elsewhere () {
    new_on a
    echo text >"$MNT/$name"
    new_on b
    file=$name
    mv "$MNT/n$(ls a.d | sed -n 's/^n//p' | sort -n | tail -n 1)" "$MNT/$file"
    [ -s a.d/$file ] || fail "$file is not on a"
}

# The stock client does what a rebalance does with each file.
move () {
    setfattr -n trusted.distribute.migrate-data -v force stock/$file
    [ -s b.d/$file ] && [ ! -e a.d/$file ] || fail "$file was not moved"
}

remains () {
    ls {a,b}.d/$file 2>/dev/null
}

make_elsewhere
exec 9<>"$MNT/$file"
move
expect "what is read through the old descriptor" text "$(head -n 1 <&9)"
echo more >&9 || fail "a write through the old descriptor"
exec 9>&- || fail "close"
expect "the file" "text
more" "$(cat stock/$file)"

make_elsewhere
exec 9<>"$MNT/$file" 8<"$MNT/$file"
move
rm "$MNT/$file" || fail "unlink"
expect "what remains on the bricks" "" "$(remains)"
expect "what a removed file contains" text "$(cat <&8)"
echo new >&9 || fail "a write to a removed file"
python3 -c 'import os; os.close(9); os.close(8)' || fail "close"
exec 9>&- 8<&-

make_elsewhere
exec 9<"$MNT/$file"
move
echo other >"$MNT/other"
mv "$MNT/other" "$MNT/$file" || fail "rename"
expect "what a replaced file contains" text "$(cat <&9)"
expect "the new one" other "$(cat stock/$file)"
exec 9<&-

make_elsewhere
exec 9<>"$MNT/$file"
move
flock -n 9 || fail "no lock"
expect_error '' flock -n stock/$file true
flock -u 9
expect_ok flock -n stock/$file true
exec 9>&-

# By name, as the kernel still knows it.
make_elsewhere
cat "$MNT/$file" >/dev/null
move
expect_ok setfattr -n user.test -v value "$MNT/$file"
expect_ok chmod 640 "$MNT/$file"
truncate -s 2 "$MNT/$file" || fail "truncate"
expect "the attribute" value "$(getfattr --only-values -n user.test b.d/$file)"
expect "mode and size" "640 2" "$(stat -c '%a %s' b.d/$file)"
expect_ok mv "$MNT/$file" "$MNT/last"
expect "the file" te "$(cat stock/last)"
file=last
rm "$MNT/last"
expect "what remains on the bricks" "" "$(remains)"
umount stock
unmount
