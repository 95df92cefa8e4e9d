#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Somebody has removed the stages behind the mount: what is removed next gets others.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

# left: the paths of the entries, behind the mount.
left () {
    sed -n "s/^Path=//p" "$BACK"/.Trash-0/info/* | sort | xargs
}

# without_stage: the root has a stage, whose folder is gone.
without_stage () {
    touch "$MNT/lost"
    rm "$MNT/lost"
    expect_ok test -d "$BACK/.windlass-trash"
    rm -r "$BACK/.windlass-trash"
}

stack features/trash,settle=1h
sed -i 's|option settle|option keep "deleted,overwritten"\n&|' "$VOL"
mount_volfile "$VOL"
mkdir "$MNT/dir"
echo old >"$MNT/text"
echo new >"$MNT/new"
without_stage
mv -f "$MNT/new" "$MNT/text"
without_stage
echo file >"$MNT/dir/file"
rm "$MNT/dir/file"
rmdir "$MNT/dir"
expect_no_match "explain" "for good" "$("$WINDLASS" explain "$MNT/text")"
unmount
expect "a directory" "dir" "$(left)"
expect "its file" file "$(cat "$BACK/.Trash-0/files/dir/file")"

mount_volfile "$VOL"
without_stage
echo newer >"$MNT/new"
mv -f "$MNT/new" "$MNT/text"
expect_no_match "explain" "for good" "$("$WINDLASS" explain "$MNT/text")"
unmount
expect "a replaced file" "dir text" "$(left)"
expect "its text" new "$(cat "$BACK/.Trash-0/files/text")"
