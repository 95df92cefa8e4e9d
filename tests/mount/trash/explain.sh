#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass explain tells what a removal does, and the removal does it: directories in both layouts,
# the trash itself, the root, and what is in another mount below the directory.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

says () { "$WINDLASS" explain "$MNT/$1" | sed -n '/(features.trash)/,/^$/s/^    //p' |
    grep -E '^(goes|is |lies|but is|has its|keeps)'; }
exdev="is removed for good: it is in the mount '$BACK/dir/other', and a file is not moved out of a mount (EXDEV)"

mkdir -p "$BACK/dir/other" "$BACK/dir/otherwise" "$BACK/bound" "$BACK/source"
mount -t tmpfs none "$BACK/dir/other"
mount --bind "$BACK/source" "$BACK/bound"
mkdir "$BACK/dir/other/in"

stack features/trash,settle=50ms
for at in "$MNT" "$BACK"; do
    MNT=$at mount_volfile "$VOL"
    MNT=$at
    touch "$MNT/dir/other/in/file" "$MNT/bound/file" "$MNT/dir/otherwise/file"
    expect "a directory" "goes to the trash of the user who removes it, with what was removed in it just before; if that is nothing, it is removed for good (trash)" \
        "$(says dir)"
    expect "a file" "goes to the trash of the user who removes it (trash)" "$(says dir/otherwise/file)"
    expect "on another file system" "$exdev" "$(says dir/other/in/file)"
    expect "the mount itself" "$exdev" "$(says dir/other)"
    expect_match "in a bind mount" "in the mount '$TEST_DIR/back/bound'" "$(says bound/file)"
    expect "the root" "is the root, which can't be removed" "$(says '')"
    rm "$MNT/dir/other/in/file" "$MNT/bound/file" "$MNT/dir/otherwise/file"
    asked
    expect "what is kept" dir/otherwise/file "$(entries)"
    expect "in the trash" "lies in a trash: removing it is final" "$(says .Trash-0/files/file)"
    expect_match "what was not" "2 names were removed for good instead, lastly for EXDEV" \
        "$("$WINDLASS" explain "$MNT")"
    "$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"
    unmount
done

stack features/trash,layout=gluster,trash=on
MNT=$TEST_DIR/mnt
mount_volfile "$VOL"
touch "$MNT/dir/otherwise/file" "$MNT/dir/other/in/file"
expect "a directory" "is removed for good, as layout gluster keeps no directories" "$(says dir)"
expect "on another file system" "$exdev" "$(says dir/other/in/file)"
expect "a file" "goes to '/.trashcan' when it is removed (layout gluster)
but is removed for good if it has more than 5242880 bytes (max-filesize)
is copied there when it becomes shorter (layout gluster)" "$(says dir/otherwise/file)"
wait_until '[ -d "$MNT/.trashcan" ]'
expect "the trash" "is the trash: it can't be removed or renamed (trash-dir)" "$(says .trashcan)"
rm -r "$MNT/dir/otherwise" "$MNT/dir/other/in"
expect_match "what is kept" '^\.trashcan/dir/otherwise/file_[^ ]*$' \
    "$(cd "$BACK" && find .trashcan -type f | xargs)"
unmount
umount "$BACK/dir/other" "$BACK/bound"
