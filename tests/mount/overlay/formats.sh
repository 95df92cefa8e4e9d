#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the kernel's overlayfs writes into a layer is read in a lower of cluster/overlay: copies of
# attributes alone (metacopy=on), marks of a mount in the mount, whiteouts without devices.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command getfattr setfattr python3
grep -qw overlay /proc/filesystems || skip "needs the kernel's overlayfs"
KERNEL=$TEST_DIR/kernel
middle=$TEST_DIR/middle
mkdir -p "$UPPER" "$KERNEL" "$middle/upper" "$middle/work" "$BACK/dir/sub" "$BACK/other"
for file in mode moved written dir/mode dir/sub/mode; do
    head -c 100000 /dev/urandom >"$BACK/$file"
done
echo removed >"$BACK/dir/removed"
layered "changes=$UPPER" "middle=$middle/upper" "lower=$BACK" >"$VOL"

# manifest DIRECTORY: types, modes, owners, sizes, times and bytes
manifest () {
    (cd "$1" && find . ! -type d -printf '%p %M %U %G %s %T@ ' -exec md5sum {} \; -o \
        -printf '%p %M\n' | sort)
}

kernel () {
    mount -t overlay -o "lowerdir=$BACK,upperdir=$middle/upper,workdir=$middle/work" \
        -o redirect_dir=on,index=off,metacopy=on test "$KERNEL"
}

# --- copies of attributes -------------------------------------------------------------------------

kernel || skip "the kernel's overlayfs can't have its upper on the file system of $middle"
cp -a "$BACK" before
chmod 600 "$KERNEL/mode" "$KERNEL/dir/mode" "$KERNEL/dir/sub/mode"
chown 65534 "$KERNEL/moved"
mv "$KERNEL/moved" "$KERNEL/other/moved"
mv "$KERNEL/dir/sub" "$KERNEL/other/sub"
mv "$KERNEL/dir/mode" "$KERNEL/dir/other"
echo more >>"$KERNEL/written"
rm "$KERNEL/dir/removed"
setfattr -n user.of-copy -v value "$KERNEL/mode"
touch -d '2001-02-03 04:05:06 UTC' "$KERNEL/other/moved"
manifest "$KERNEL" >expected
umount "$KERNEL"
getfattr -m metacopy "$middle/upper/mode" 2>/dev/null | grep -q metacopy ||
    skip "the kernel's overlayfs makes no copies of attributes alone"
mount_volfile "$VOL"
expect "the tree" "$(cat expected)" "$(manifest "$MNT")"
expect "blocks" "$(stat -c %b "$BACK/mode")" "$(stat -c %b "$MNT/mode")"
expect "an attribute" value "$(getfattr --only-values -n user.of-copy "$MNT/mode")"
exec 3<>"$MNT/other/moved"
expect "what an open copies" "" "$(ls -A "$UPPER/layers/0")"
printf changed >&3
exec 3>&-
expect "a change" "changed$(tail -c +8 before/moved | md5sum)" \
    "$(head -c 7 "$MNT/other/moved")$(tail -c +8 "$MNT/other/moved" | md5sum)"
expect "the owner of the copy" 65534 "$(stat -c %u "$UPPER/layers/0/other/moved")"
mv "$MNT/other/sub" "$MNT/back"
cmp before/dir/sub/mode "$MNT/back/mode" || fail "a renamed directory has other bytes in it"
unmount
mount_volfile "$VOL"
cmp before/dir/sub/mode "$MNT/back/mode" || fail "another mount shows other bytes"
unmount

# The rights are those of the copy.
chmod 644 "$BACK/mode"
mount_volfile "$VOL" -o allow_other
setpriv --reuid 65534 --clear-groups cmp "$MNT/written" "$middle/upper/written" ||
    fail "a user can't read a file that all may read"
expect_error "Permission denied" setpriv --reuid 65534 --clear-groups cat "$MNT/mode"
unmount
chmod 000 "$BACK/moved" "$BACK/mode"
mv "$BACK/mode" "$BACK/hidden"
mount_volfile "$VOL"
expect_error "Input/output error" cat "$MNT/mode" # its bytes are gone
unmount
mv "$BACK/hidden" "$BACK/mode"

# In the upper such a file is refused.
rm -rf "$UPPER"
mkdir -p "$UPPER/layers"
cp -a "$middle/upper" "$UPPER/layers/0"
setfattr -n trusted.overlay.metacopy "$UPPER/layers/0/mode"
mount_volfile "$VOL" -l "$TEST_DIR/log"
expect_error "not permitted" cat "$MNT/mode"
expect_match "the log" "file 'mode' of volume 'changes' can't be used: .*metacopy=on" "$(cat log)"
unmount
rm -rf "$UPPER"
mkdir "$UPPER"

# --- marks of a mount in the mount ----------------------------------------------------------------

mkdir "$BACK/nested"
echo text >"$BACK/nested/file"
kernel
if setfattr -n trusted.overlay.opaque -v y "$KERNEL/nested" 2>/dev/null; then
    umount "$KERNEL"
    mount_volfile "$VOL"
    expect "a mark that is none here" file "$(ls "$MNT/nested")"
    expect "what programs see of it" y \
        "$(getfattr --only-values -n trusted.overlay.opaque "$MNT/nested")"
    expect_match "its name" '^trusted.overlay.opaque$' "$(getfattr -m opaque "$MNT/nested")"
    touch "$MNT/nested/new"
    expect "a copy" y "$(getfattr --only-values -n trusted.overlay.opaque "$MNT/nested")"
    expect_error "not supported" setfattr -n trusted.overlay.overlay.opaque -v y "$MNT/nested"
    unmount
else
    umount "$KERNEL"
fi

# --- whiteouts without devices --------------------------------------------------------------------

mkdir -p "$middle/upper/xdir" "$BACK/xdir"
echo text | tee "$BACK/xdir/gone" "$BACK/xdir/stays" >"$BACK/xdir/too"
touch "$middle/upper/xdir/gone" "$middle/upper/xdir/too"
setfattr -n trusted.overlay.opaque -v x "$middle/upper/xdir"
setfattr -n trusted.overlay.whiteout -v y "$middle/upper/xdir/gone"
mount_volfile "$VOL"
expect "a listing" "stays too" "$(ls "$MNT/xdir" | tr '\n' ' ' | sed 's/ $//')"
expect_error "No such file" cat "$MNT/xdir/gone"
echo new >"$MNT/xdir/gone"
expect "a new file" new "$(cat "$MNT/xdir/gone")"
rm "$MNT/xdir"/*
rmdir "$MNT/xdir"
unmount
