#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The marks that tell of a copy which file it is a copy of: they are those of the kernel's overlayfs,
# a copy keeps its inode number by them, and a mark that leads to nothing is left out.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3 getfattr setfattr
grep -qw overlay /proc/filesystems || skip "needs the kernel's overlayfs"
KERNEL=$TEST_DIR/kernel
# A file system that has a UUID: tmpfs, since Linux 6.10.
mount -t tmpfs tmpfs "$BACK"
UPPER=$BACK/changes upper=$BACK/changes/layers/0 more=$BACK/more
BACK=$BACK/lower
mkdir -p "$UPPER/kernel" "$UPPER/kernel-work" "$KERNEL" "$BACK/dir/sub" "$BACK/pure"
for file in a b c d dir/e dir/sub/f; do
    echo "$file" >"$BACK/$file"
done
ln -s a "$BACK/link"
overlay_volfile

# mark NAME FILE
mark () {
    getfattr --absolute-names -h -e hex --only-values -n "trusted.overlay.$1" "$2" 2>/dev/null |
        od -An -tx1 | tr -d ' \n'
}

# number NAME: of stat, and of the listing
number () {
    stat -c %i "$MNT/$1"
    ls -ai "$MNT/$(dirname "$1")" | awk -v name="$(basename "$1")" '$2 == name { print $1 }'
}

change () {
    echo more >>"$1/a"
    echo more >>"$1/dir/sub/f"
    touch -h "$1/link"
    mkdir "$1/pure/new"
}

# --- the same bytes as the kernel's ---------------------------------------------------------------

mount -t overlay -o "lowerdir=$BACK,upperdir=$UPPER/kernel,workdir=$UPPER/kernel-work" \
    -o redirect_dir=on,index=off,metacopy=off test "$KERNEL" ||
    skip "the kernel's overlayfs can't have its upper on the file system of $UPPER"
change "$KERNEL"
umount "$KERNEL"
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
before=$(number a) below=$(number dir/sub/f) link=$(number link)
change "$MNT"
expect "the number of a copy" "$before" "$(number a)"
[[ "$(mark origin "$UPPER/kernel/a")" != 00fb????????????????????????????????00000000* ]] ||
    skip "needs a tmpfs with a UUID"
for file in a dir dir/sub dir/sub/f link pure; do
    [ -n "$(mark origin "$UPPER/kernel/$file")" ] || fail "the kernel wrote no origin of $file"
    expect "the origin of $file" "$(mark origin "$UPPER/kernel/$file")" \
        "$(mark origin "$upper/$file")"
done
for directory in . dir dir/sub pure pure/new; do
    expect "whether $directory is impure" "$(mark impure "$UPPER/kernel/$directory")" \
        "$(mark impure "$upper/$directory")"
done
expect "marks of ours, but for that of the layer's root" "" "$(getfattr -Rhm windlass "$upper"/* 2>/dev/null)"

# A rename and a link make their directory impure.
mkdir "$MNT/one" "$MNT/two"
mv "$MNT/a" "$MNT/one/a"
ln "$MNT/one/a" "$MNT/two/a"
expect "the directory of a rename" 79 "$(mark impure "$upper/one")"
expect "the directory of a link" 79 "$(mark impure "$upper/two")"
mv "$MNT/one/a" "$MNT/a"
rm "$MNT/two/a"
unmount

# --- the next mount -------------------------------------------------------------------------------

mount_volfile "$VOL"
expect "the number of a copy" "$before" "$(number a)"
expect "the number of one in a directory" "$below" "$(number dir/sub/f)"
expect "the number of a symbolic link" "$link" "$(number link)"
unmount

# What the kernel wrote.
sed -i 's|subvolumes changes|option upper kernel\n    &|' "$VOL"
mount_volfile "$VOL"
expect "the number of the kernel's copy" "$before" "$(number a)"
expect "the number of one in a directory" "$below" "$(number dir/sub/f)"
unmount
sed -i '/option upper/d' "$VOL"

# A layer that was an upper: the number goes on through both copies.
layered "changes=$more" "middle=$upper" "lower=$BACK" >three.vol
mkdir "$more"
for turn in 1 2; do
    mount_volfile three.vol
    expect "the number of a copy of a copy, mount $turn" "$before" "$(number a)"
    expect "one in a directory, mount $turn" "$below" "$(number dir/sub/f)"
    echo again >>"$MNT/a"
    echo again >>"$MNT/dir/sub/f"
    expect "the number after the second copy" "$before" "$(number a)"
    expect "one in a directory after the second copy" "$below" "$(number dir/sub/f)"
    unmount
done

# --- marks that are wrong -------------------------------------------------------------------------

mount_volfile "$VOL"
echo more >>"$MNT/d"
unmount
rm "$BACK/d" # its copy has no origin now
cp "$upper/a" "$upper/dir/twin"
echo twin >"$upper/dir/twin"
setfattr -n trusted.overlay.origin -v "0x$(mark origin "$upper/a")" "$upper/dir/twin"
echo text >"$upper/b"
setfattr -n trusted.overlay.origin -v "0x$(mark origin "$upper/dir")" "$upper/b"
echo text >"$upper/c"
setfattr -n trusted.overlay.origin -v 0x00fb "$upper/c"
mount_volfile "$VOL"
for file in b c d; do
    expect "the bytes of $file" "$(cat "$upper/$file")" "$(cat "$MNT/$file")"
    own=$(stat -c %i "$upper/$file")
    expect "the number of $file" "$own
$own" "$(number $file)"
done

# Two files that say the same origin are two files.
expect "the first one" "$(cat "$upper/a")" "$(cat "$MNT/a")"
expect "the second one" twin "$(cat "$MNT/dir/twin")"
expect "its number" "$(stat -c %i "$upper/dir/twin")" "$(stat -c %i "$MNT/dir/twin")"
echo more >>"$MNT/dir/twin"
expect "the first one, still" "$(cat "$upper/a")" "$(cat "$MNT/a")"
unmount
