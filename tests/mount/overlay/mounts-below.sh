#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# File systems that are mounted below the directory of a lower are part of what the view shows: those
# of before the mount, and those that come and go later. Their files are copied like others.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3
mkdir -p "$UPPER" "$BACK/dir/first" "$BACK/dir/second/in" "$BACK/plain"
echo covered >"$BACK/dir/first/covered"
echo plain >"$BACK/plain/file"
mount -t tmpfs none "$BACK/dir/first"
mkdir "$BACK/dir/first/sub"
echo one >"$BACK/dir/first/file"
echo two >"$BACK/dir/first/sub/file"
ln "$BACK/dir/first/file" "$BACK/dir/first/link"
names () {
    (cd "$MNT" && find . -mindepth 1 | sort | xargs)
}
numbers () { # that stat and a listing tell, of all names
    python3 - "$MNT" <<'EOF_PY'
import os, sys
for folder, _, _ in os.walk(sys.argv[1]):
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        print(entry.path, entry.inode(), os.lstat(entry.path).st_ino)
EOF_PY
}
view="./dir ./dir/first ./dir/first/file ./dir/first/link ./dir/first/sub ./dir/first/sub/file"
rest="./plain ./plain/file"
overlay_volfile

mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
expect "the names" "$view ./dir/second ./dir/second/in $rest" "$(names)"
numbers | awk '$2 != $3' >differ
expect "names with another number in a listing, but for what is mounted on" "" \
    "$(grep -v '/dir/first ' differ)"
numbers | awk '{ print $1, $3 }' >before
expect "different numbers" "" "$(awk '{ print $2 }' before | sort | uniq -d | grep -v \
    "^$(stat -c %i "$MNT/dir/first/file")\$")"
echo more >>"$MNT/dir/first/file"
expect "a copied file" "one more" "$(xargs <"$MNT/dir/first/file")"
expect "its other name" "one more" "$(xargs <"$MNT/dir/first/link")"
echo more >>"$MNT/dir/first/sub/file"
numbers | awk '{ print $1, $3 }' | diff before - || fail "numbers after a copy"
printf 'volume top\n    type debug/io-stats\n    subvolumes overlay\nend-volume\n' >>"$VOL"
expect_match "another graph" "has moved to its new graph" "$("$WINDLASS" reload "$MNT" 2>&1)"
numbers | awk '{ print $1, $3 }' | diff before - || fail "numbers after a reload"
expect "what is below" "one two" "$(cat "$BACK/dir/first/file" "$BACK/dir/first/sub/file" | xargs)"

# One that comes, and goes.
mount -t tmpfs none "$BACK/dir/second"
echo late >"$BACK/dir/second/late"
expect "a file system that came" "late" "$(ls "$MNT/dir/second")"
expect "its file" late "$(cat "$MNT/dir/second/late")"
umount -l "$BACK/dir/second"
expect "a file system that went" "in" "$(ls "$MNT/dir/second")"

# A whole file system can be renamed in the view, and removed.
mv "$MNT/dir/first" "$MNT/moved"
expect "a file of one that was renamed" "one more" "$(xargs <"$MNT/moved/link")"
expect "another one" "two more" "$(xargs <"$MNT/moved/sub/file")"
rm -r "$MNT/moved"
expect "the names of the rest" "./dir ./dir/second ./dir/second/in $rest" "$(names)"
expect_ok overlay discard "$MNT"
expect "the names after a discard" "$view ./dir/second ./dir/second/in $rest" "$(names)"
unmount

# The same over the directory itself, as far as paths lead to what is below.
MNT=$BACK
overlay_volfile
mount_volfile "$VOL"
expect "the names over itself" "$view ./dir/second ./dir/second/in $rest" "$(names)"
echo more >>"$MNT/dir/first/file"
expect "a copied file over itself" "one more" "$(xargs <"$MNT/dir/first/link")"
unmount
expect "the bare file" "one" "$(cat "$BACK/dir/first/file")"
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
