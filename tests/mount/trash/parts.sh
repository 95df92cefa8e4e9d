#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass trash restore of a part of a removed tree; paths from the current folder; an argument that
# no entry fits is told with what there is.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

stack features/trash,settle=1h
chmod 755 "$TEST_DIR"
chmod 1777 "$BACK"
mount_volfile "$VOL"
umask 022
listed () { "$WINDLASS" trash list "$MNT" "$@" | cut -c 35- | cut -f 1 | sort | xargs; }
restore () { "$WINDLASS" trash restore "$MNT" "$@"; }
tree () { # TEXT
    mkdir -p "$MNT/top/tree/deep/er"
    echo "$1" >"$MNT/top/tree/deep/file"
    echo "$1 er" >"$MNT/top/tree/deep/er/file"
    echo "$1 other" >"$MNT/top/tree/other"
    ln -s ../../../kept "$MNT/top/tree/link"
    rm -r "$MNT/top/tree"
    asked
}

mkdir "$MNT/kept"
echo kept >"$MNT/kept/file"
tree one

# A part comes back to its place; what the rest was in is still an entry, and lists without the part.
said=$(restore top/tree/deep/file) || fail "the part was not restored: $said"
expect_match "a directory" "^'top/tree/deep' was missing" "$said"
expect_match "a part" "^restored 1 part of entries; the rest stays in the trash$" "$said"
expect "the part" one "$(cat "$MNT/top/tree/deep/file")"
expect "the entry" "top/tree/" "$(listed)"
expect "what is left of it" "deep deep/er deep/er/file link other" \
    "$(cd "$MNT/.Trash-0/files/tree" && find . -mindepth 1 -printf '%P\n' | sort | xargs)"
expect_match "again" "no entry of the trash has the path or the name 'top/tree/deep/file'" \
    "$(restore top/tree/deep/file 2>&1)"

# A directory is a part, too; several parts, one of which is not there.
said=$(restore "$MNT/top/tree/deep/er/" /top/tree/none 2>&1) && fail "what is not there was restored"
expect_match "no such part" "no entry of the trash has the path or the name 'top/tree/none'" "$said"
expect_match "the number" "1 of 2 not restored" "$said"
expect "a directory" "one er" "$(cat "$MNT/top/tree/deep/er/file")"

# A link is a part; none is followed on the way to one.
expect_match "through a link" "no entry .* 'top/tree/link/file'" "$(restore top/tree/link/file 2>&1)"
expect_ok "$WINDLASS" trash restore "$MNT" top/tree/link
expect "the link" ../../../kept "$(readlink "$MNT/top/tree/link")"
expect "what it leads to" kept "$(cat "$MNT/kept/file")"

# Nothing is replaced.
echo new >"$MNT/top/tree/other"
expect_match "a name that is taken" "^'top/tree/other' is not restored: exists again" \
    "$(restore top/tree/other 2>&1)"
expect "the new one" new "$(cat "$MNT/top/tree/other")"
expect_match "the rest" "^'top/tree' is not restored: exists again" "$(restore top/tree 2>&1)"
rm "$MNT/top/tree/other"
asked
"$WINDLASS" trash empty "$MNT" top/tree/other >/dev/null || fail "not emptied"
expect_ok "$WINDLASS" trash restore "$MNT" top/tree/other
expect "the old one" "one other" "$(cat "$MNT/top/tree/other")"

# The newest entry that has the part. list and empty take entries as a whole, and say which.
rm -r "$MNT/top/tree"
asked
"$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"
for text in two three; do
    tree $text
done
touch -d 2020-01-01 "$BACK/.Trash-0/info/tree.trashinfo"
sed -i 's/^DeletionDate=.*/DeletionDate=2020-01-01T00:00:00/' "$BACK/.Trash-0/info/tree.trashinfo"
rm "$BACK/.Trash-0/files/tree.2/other"
for command in list empty; do
    expect_error "'top/tree/other' is a part of the entry 'top/tree' \(in the trash 'tree'\), which" \
        "$WINDLASS" trash $command "$MNT" top/tree/other
done
expect_match "JSON" '^\[ *$' "$("$WINDLASS" trash list --json "$MNT" top/tree/other 2>/dev/null)"
expect_ok "$WINDLASS" trash restore "$MNT" top/tree/deep/file top/tree/other
expect "the newest that have them" "three two other" \
    "$(cat "$MNT/top/tree/deep/file" "$MNT/top/tree/other" | xargs)"
expect_error "no entry" "$WINDLASS" trash restore "$MNT" --names tree/deep/er
expect_ok "$WINDLASS" trash restore "$MNT" --older 1d top/tree/deep/er/file
expect "of the one that is old enough" "two er" "$(cat "$MNT/top/tree/deep/er/file")"
rm -r "$MNT/top/tree"
asked
"$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"

# What is named twice, or is in what is named, too, comes back once.
tree twice
expect_ok "$WINDLASS" trash restore "$MNT" top/tree/deep top/tree/deep/er/file top/tree/deep
expect "a part" twice "$(cat "$MNT/top/tree/deep/file")"
rm -r "$MNT/top/tree"
asked
expect_ok "$WINDLASS" trash restore "$MNT" top/tree/deep/er/file top/tree
"$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"

# From the current folder, and with what has to be left out of a path.
mkdir -p "$MNT/here/below"
touch "$MNT/here/below/a" "$MNT/here/below/b" "$MNT/here/below/c" "$MNT/here/below/d"
rm "$MNT/here/below/"?
asked
cd "$MNT/here" || exit 1
expect_error "'below/a'; there is 'here/below/a': a path begins at the root of the mount" \
    "$WINDLASS" trash restore "$MNT" below/a
expect_ok "$WINDLASS" trash restore "$MNT" ./below/a
expect_ok "$WINDLASS" trash restore ../../mnt ../here/./below/b
expect_ok "$WINDLASS" trash restore "$MNT" "$TEST_DIR/./mnt//here/below/c"
expect_ok "$WINDLASS" trash restore "$MNT" here//below/../below/d
expect "all" "a b c d" "$(ls "$MNT/here/below" | xargs)"
cd "$MNT/here/below" || exit 1
rm a b c d
asked
expect_ok "$WINDLASS" trash restore "$MNT" .
expect "all" "a b c d" "$(ls "$MNT/here/below" | xargs)"
cd "$TEST_DIR" || exit 1

# Outside of the mount the current folder names nothing in it, least of all everything.
touch "$MNT/report"
rm "$MNT/report"
asked
for path in . .. ./report ../report; do
    expect_error "'$path' begins at the current folder, and is not in '$MNT'" \
        "$WINDLASS" trash empty "$MNT" "$path"
done
ln -s "$MNT" link
expect_error "is not in 'link'" bash -c "cd '$MNT' && '$WINDLASS' trash empty link ./report"
for path in /. /.. report/..; do
    expect_error "'$path' does not begin at the root of the mount" \
        "$WINDLASS" trash empty "$MNT" "$path"
done
expect_ok "$WINDLASS" trash restore "$MNT" report
rm link

# Another user's tree is of that user alone.
as () { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
as 1234 mkdir -p "$MNT/of1234/tree"
as 1234 touch "$MNT/of1234/tree/file"
as 1234 rm -r "$MNT/of1234/tree"
asked
expect_match "of another user" "no entry" "$(as 1235 "$WINDLASS" trash restore "$MNT" of1234/tree/file 2>&1)"
expect_match "of root" "no entry" "$(restore of1234/tree/file 2>&1)"
expect_ok as 1234 "$WINDLASS" trash restore "$MNT" of1234/tree/file
expect "whose" "1234 1234" "$(stat -c %u "$MNT/of1234/tree/file" "$MNT/of1234/tree" | xargs)"
unmount
