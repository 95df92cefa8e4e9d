#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The folder of the changes may lie in a lower, which does not show it: it is known by the directory
# that it is in, and by its name there. So it stays hidden where that directory is renamed, and where
# the folder is a file system of its own; a directory of the same name elsewhere is shown.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root

names () {
    (cd "$MNT" && find . -mindepth 1 | sort | xargs)
}
hidden () {
    expect "what the view shows $1" "$2" "$(names)"
    expect "the changes $1" "" "$(changes)"
}

# In a directory of the lower.
mkdir -p "$BACK/dir/changes" "$BACK/other/changes/in"
UPPER=$BACK/dir/changes
overlay_volfile
mount_volfile "$VOL"
hidden "in a directory" "./dir ./other ./other/changes ./other/changes/in"
expect_error "No such file" stat "$MNT/dir/changes"
mv "$MNT/dir" "$MNT/moved"
mv "$MNT/other" "$MNT/second"
expect "the view after renames" "./moved ./second ./second/changes ./second/changes/in" "$(names)"
expect_error "No such file" stat "$MNT/moved/changes"
expect "the changes after renames" "R.dir.moved R.other.second" \
    "$(overlay diff --name-status "$MNT" | tr '\t' . | sort | xargs)"
unmount
mount_volfile "$VOL"
expect "the view in the next mount" "./moved ./second ./second/changes ./second/changes/in" "$(names)"
expect_ok overlay discard "$MNT"
rmdir "$MNT/dir"
expect "the view without the directory" "./other ./other/changes ./other/changes/in" "$(names)"
for force in "" --force; do
    expect_error "'/dir/changes' has the changes of this view, so it can't be removed" \
        overlay apply $force "$MNT" dir
    expect_error "'/dir/changes' has the changes of this view, so it can't be removed" \
        overlay commit $force "$MNT"
done
unmount
expect_ok test -d "$UPPER/layers/0"
rm -r "$BACK"
mkdir -p "$BACK"

# In the root of the lower.
mkdir -p "$BACK/changes" "$BACK/dir/changes"
UPPER=$BACK/changes
overlay_volfile
mount_volfile "$VOL"
hidden "in the root" "./dir ./dir/changes"
unmount
rm -r "$UPPER"

# A file system of its own.
mkdir -p "$BACK/dir/own" "$BACK/own"
mount -t tmpfs none "$BACK/dir/own"
UPPER=$BACK/dir/own
overlay_volfile
mount_volfile "$VOL"
hidden "in a file system of its own" "./dir ./dir/changes ./own"
expect_error "No such file" stat "$MNT/dir/own"
sed -i 's/^    type cluster.*/&\n    option owner daemon/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
hidden "after a reload" "./dir ./dir/changes ./own"
unmount
umount "$BACK/dir/own"

# The mount itself in the lower: an empty directory, which nobody asks the mount for.
rm -r "$BACK"
UPPER=$TEST_DIR/changes
mkdir -p "$BACK/dir/point/covered" "$UPPER"
echo text >"$BACK/dir/file"
MNT=$BACK/dir/point
overlay_volfile
mount_volfile "$VOL"
hidden "with the mount in it" "./dir ./dir/file ./dir/point"
expect "what is where the mount is" "555 directory" "$(stat -c '%a %F' "$MNT/dir/point")"
expect "its number" "$(stat -c %i "$MNT/dir/point")" "$(stat -c %i "$MNT/dir/point/.")"
expect_error "No such file" stat "$MNT/dir/point/covered"
expect_error "busy" touch "$MNT/dir/point/made"
expect_error "busy" rmdir "$MNT/dir/point"
expect_error "busy" mv "$MNT/dir/point" "$MNT/dir/other"
expect_error "busy" chmod 700 "$MNT/dir/point"
expect_error "not empty" rmdir "$MNT/dir"
expect_ok touch "$MNT/dir/made"
mv "$MNT/dir" "$MNT/moved"
expect "the names in a renamed directory" "./moved ./moved/file ./moved/made ./moved/point" "$(names)"
sed -i 's/^    type cluster.*/&\n    option owner daemon/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect "the names after a reload" "./moved ./moved/file ./moved/made ./moved/point" "$(names)"
unmount

# Where the directories may not lie. Beside the upper and the work directory a lower may be, as many
# programs have the three for the kernel's overlayfs.
refused () { # WHAT REGEX UPPER LOWER [MOUNT POINT]
    UPPER=$3
    BACK=$4
    overlay_volfile
    : >refused.log
    expect_error "$2" "$WINDLASS" -f "$VOL" -l refused.log "${5-$MNT}"
    ! mountpoint -q "${5-$MNT}" || fail "$1: it is mounted"
}
MNT=$TEST_DIR/mnt
mkdir -p all/{layers/0/below/deep,work/below,lower,point} outside
echo file >all/lower/file
ALL=$TEST_DIR/all
takes="'changes', which takes the changes"
refused "the same directory" "volume 'lower' is the directory of $takes" "$ALL" "$ALL"
refused "the upper" "volume 'lower' is a directory in $takes" "$ALL" "$ALL/layers/0"
refused "above the upper" "volume 'lower' is a directory in $takes" "$ALL" "$ALL/layers"
refused "in the upper" "volume 'lower' is inside the directory 'layers/0' of $takes" "$ALL" \
    "$ALL/layers/0/below"
refused "deep in the upper" "volume 'lower' is inside the directory 'layers/0' of $takes" "$ALL" \
    "$ALL/layers/0/below/deep"
refused "in the work directory" "volume 'lower' is inside the directory 'work' of $takes" "$ALL" \
    "$ALL/work/below"
refused "the mount point in the folder" "'$ALL' must not hold its own mount point, '$ALL/point'" \
    "$ALL" "$TEST_DIR/outside" "$ALL/point"
rm -r "$ALL"/{layers,work}
BACK=$ALL/lower
overlay_volfile
mount_volfile "$VOL"
hidden "of a lower beside the upper" "./file"
refused "a folder in use" "is in use by .*: only one daemon at a time can change it" "$ALL" \
    "$TEST_DIR/outside" "$TEST_DIR/outside"
unmount
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
