#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Over a brick of GlusterFS, whose rename has no flags: nothing in the stage, in the trash or at the
# place of a restored file is replaced, and a name of a file with further links stays, since others
# may remove those.
. "$(dirname "$0")/../brick/lib.sh"

brick one
brick_volfile one
cat >>"$VOL" <<EOF
volume trash
    type features/trash
    option settle 1h
    subvolumes one
end-volume
EOF
mount_volfile "$VOL"
mkdir -p "$MNT/tree/below" "$MNT/tree/empty"
echo tree >"$MNT/tree/below/file"
rm -r "$MNT/tree"
for text in 1 2 3; do
    echo $text >"$MNT/name"
    rm "$MNT/name"
done
echo linked >"$MNT/a"
ln "$MNT/a" "$MNT/b"
rm "$MNT/a"
expect_match "explain" "goes to the trash" "$("$WINDLASS" explain "$MNT/b")"
expect_no_match "explain" "for good" "$("$WINDLASS" explain "$MNT/b")"
unmount
expect "entries" "a name name name tree" \
    "$(sed -n 's/^Path=//p' "$TEST_DIR"/one.d/.Trash-0/info/* | sort | xargs)"
expect "their texts" "1 2 3" "$(cat "$TEST_DIR"/one.d/.Trash-0/files/name* | sort | xargs)"
expect "the tree" "below below/file empty" \
    "$(cd "$TEST_DIR/one.d/.Trash-0/files/tree" && find . -mindepth 1 -printf '%P\n' | sort | xargs)"
[ ! -e "$TEST_DIR/one.d/.windlass-trash" ] || fail "the stage is left"

# Restoring: a file by a further name, a directory by a rename.
mount_volfile "$VOL"
echo taken >"$MNT/a"
mkdir "$MNT/tree"
expect_error "'a' is not restored: exists again" "$WINDLASS" trash restore "$MNT" a
expect_error "'tree' is not restored: exists again" "$WINDLASS" trash restore "$MNT" tree
expect "what has the name" taken "$(cat "$MNT/a")"
rm "$MNT/a"
rmdir "$MNT/tree"
expect_ok "$WINDLASS" trash restore --names "$MNT" a tree
expect_ok "$WINDLASS" trash restore "$MNT" name
expect "the texts" "linked tree" "$(cat "$MNT/a" "$MNT/tree/below/file" | xargs)"
expect "the links" "$(stat -c '%i 2' "$MNT/b")" "$(stat -c '%i %h' "$MNT/a")"
expect "one of three names and the others" "1 2 3 taken" \
    "$(cat "$MNT/name" "$MNT"/.Trash-0/files/{a,name}* | sort | xargs)"
unmount
expect "information files" "a name name" \
    "$(sed -n 's/^Path=//p' "$TEST_DIR"/one.d/.Trash-0/info/* | sort | xargs)"
