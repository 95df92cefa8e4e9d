#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The copy of a lower's file at its first change: what it keeps, who waits for it, what programs
# that have the file open see, and what remains if it fails or the daemon is killed.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3 setfattr getfattr setfacl getfacl
mkdir -p "$UPPER" "$BACK/dir"
overlay_volfile
upper=$UPPER/layers/0

head -c 5000000 /dev/urandom >"$BACK/file"
truncate -s 20M "$BACK/sparse"
printf end >>"$BACK/sparse"
setfattr -n user.test -v value "$BACK/file" || skip "needs a file system with attributes"
setfacl -m u:65534:rw "$BACK/file" || skip "needs a file system with ACLs"
chown 65534:65533 "$BACK/file"
chmod 4750 "$BACK/file"
touch -d '2001-02-03 04:05:06.789 UTC' "$BACK/file" "$BACK/dir"
ln -s file "$BACK/dir/link"
mkfifo "$BACK/dir/pipe"
echo removed >"$BACK/removed"
: >"$BACK/lines"
echo one >"$BACK/linked"
ln "$BACK/linked" "$BACK/dir/linked"

# What the copy keeps; an open to write copies nothing.
mount_volfile "$VOL"
before=$(stat -c '%i %a %u %g %s %y' "$MNT/file")
exec 3<>"$MNT/file" 4<"$MNT/file"
expect "what an open copies" "" "$(ls -A "$upper")"
touch -a "$MNT/file"
expect "what is kept" "$before" "$(stat -c '%i %a %u %g %s %y' "$MNT/file")"
cmp "$BACK/file" "$upper/file" || fail "the copy has other bytes"
expect "an attribute" value "$(getfattr --only-values -n user.test "$MNT/file")"
expect_match "the ACL" 'user:nobody:rw-|user:65534:rw-' "$(getfacl -p "$MNT/file")"
expect "marks that programs see" "" "$(getfattr -d -m overlay "$MNT/file")"
expect_error "not supported" setfattr -n trusted.overlay.opaque -v y "$MNT/dir"
expect "the time of its directory" "$(stat -c %y "$BACK")" "$(stat -c %y "$MNT")"

# Descriptors from before see the change.
printf changed >&3
expect "a descriptor that was opened before" changed "$(head -c 7 <&4)"
exec 3>&- 4<&-

# Holes stay; other types are copied as they are, with their parents.
echo more >>"$MNT/sparse"
[ "$(stat -c %b "$upper/sparse")" -lt 1000 ] || fail "the copy of a sparse file is not sparse"
touch -h -d '2002-02-02 UTC' "$MNT/dir/link"
expect "a symbolic link" file "$(readlink "$upper/dir/link")"
touch "$MNT/dir/pipe"
expect "a pipe" fifo "$(stat -c %F "$upper/dir/pipe")"
expect "the time of a parent" "$(stat -c %y "$BACK/dir")" "$(stat -c %y "$MNT/dir")"

# Many writers of one file, and one file with two names.
for i in $(seq 64); do
    echo "line $i" >>"$MNT/lines" &
done
wait $(jobs -p | grep -vx "$DAEMON")
expect "lines of 64 writers" 64 "$(sort -u "$MNT/lines" | wc -l)"
echo two >>"$MNT/linked"
expect "the other name" "$(printf 'one\ntwo')" "$(cat "$MNT/dir/linked")"

# A file that was removed in the view, and is still open.
exec 3<>"$MNT/removed"
rm "$MNT/removed"
echo again >&3
expect "a removed file" again "$(head -n 1 /proc/self/fd/3)"
expect "its links" 0 "$(stat -Lc %h /proc/self/fd/3)"
exec 3>&-
expect "the removed name" "character special file" "$(stat -c %F "$upper/removed")"
wait_until work_is_clean
expect_error "not permitted" mknod "$MNT/whiteout" c 0 0

# Whiteouts are names of one object, each of which comes and goes by itself.
touch "$BACK"/gone-{1,2,3}
rm "$MNT"/gone-{1,2,3}
expect "whiteouts" "character special file 1" \
    "$(stat -c '%F %i' "$upper"/gone-* | sort -u | awk '{ print $1, $2, $3; n++ } END { print n }' |
       tail -n 2 | xargs)"
echo new >"$MNT/gone-2"
expect "names that were removed" "gone-2" "$(cd "$MNT" && ls gone-*)"
expect "the others' whiteouts" "0:0 0:0" "$(stat -c '%t:%T' "$upper"/gone-{1,3} | xargs)"
rm "$MNT/gone-2"

# A second daemon with the same directories is refused, and names the first.
mkdir second
"$WINDLASS" -f "$VOL" -l second.log second && fail "two daemons use one upper"
expect_match "the reason" \
    "option 'work-directory' .*is in use by process $DAEMON on '$(hostname)': only one daemon" \
    "$(cat second.log)"
number=$(stat -c %i "$MNT/file")
mv "$MNT/file" "$MNT/dir/moved"
unmount

# A copy goes on to have its number in the next mount. What a killed daemon has left is removed.
touch "$UPPER/work/copy.0000000000000000.1"
mount_volfile "$VOL"
expect "the number of a copy" "$number" "$(stat -c %i "$MNT/dir/moved")"
wait_until work_is_clean
unmount

# A full disk fails the change, and the file stays as it was.
rm -rf "$UPPER"
mkdir "$UPPER"
mount -t tmpfs -o size=2m tmpfs "$UPPER"
mount_volfile "$VOL"
expect_error "No space left" bash -c 'echo more >>"$1"' - "$MNT/file"
cmp "$BACK/file" "$MNT/file" || fail "a copy that failed has changed the file"

# A file that is emptied is copied without its bytes, for which there is no space; but only by who
# may do that.
cp -a "$BACK/file" "$BACK/cut"
cp -a "$BACK/file" "$BACK/dir/cut"
before=$(stat -c '%i %a %u %g %h' "$MNT/file")
as_user () {
    setpriv --reuid 65532 --regid 65532 --clear-groups -- "$@"
}
expect_error "Permission denied" as_user truncate -s 0 "$MNT/file"
expect "what is copied without the right to" "" "$(find "$upper" -name file)"
: >"$MNT/file"
truncate -s 0 "$MNT/cut"
python3 -c 'import os, sys; os.ftruncate(os.open(sys.argv[1], os.O_WRONLY), 0)' "$MNT/dir/cut"
expect "the sizes" "0 0 0" "$(stat -c %s "$MNT/file" "$MNT/cut" "$MNT/dir/cut" | xargs)"
expect "what is kept" "$before" "$(stat -c '%i %a %u %g %h' "$MNT/file")"
expect "an attribute" value "$(getfattr --only-values -n user.test "$MNT/cut")"
[ "$MNT/file" -nt "$BACK/cut" ] || fail "a file that was emptied has its old time"
expect "the lower's file" 5000000 "$(stat -c %s "$BACK/file")"
rm "$BACK/cut" "$BACK/dir/cut"
echo small >>"$MNT/lines"
expect "a smaller file" small "$(cat "$MNT/lines")"
unmount
umount "$UPPER"

# A lower may contain the folder of the changes, which it does not show; it may not be in it.
rm -rf "$UPPER"
mkdir -p "$BACK/dir/changes"
sed "s|$UPPER|$BACK/dir/changes|" "$VOL" >inside.vol
mount_volfile inside.vol
echo made >>"$MNT/dir/made"
expect "what the view shows" "link linked made pipe" "$(ls "$MNT/dir" | xargs)"
expect_error "No such file" ls "$MNT/dir/changes"
mkdir "$MNT/dir/changes"
echo ours >"$MNT/dir/changes/work"
expect "a name of our own" work "$(ls "$MNT/dir/changes")"
expect "a name of our own in the diff" "A.dir/changes A.dir/changes/work A.dir/made" \
    "$(overlay diff --name-status "$MNT" | tr '\t' . | sort | xargs)"
unmount
expect "a name of our own" ours "$(cat "$BACK/dir/changes/layers/0/dir/changes/work")"
for inside in '' /layers /layers/0 /work; do
    sed "s|$BACK|$BACK/dir/changes$inside|; s|$UPPER|$BACK/dir/changes|" "$VOL" >inside.vol
    expect_error "volume 'lower' is .* 'changes', which takes the changes" \
        "$WINDLASS" -f inside.vol -l refused "$MNT"
done
rm -r "$BACK/dir/changes"
mkdir -p "$UPPER"

# What the first subvolume must be able to do is tried at the start: ramfs has no attributes, and a
# view has no marks for its programs.
mount -t ramfs ramfs "$UPPER"
expect_error "option 'work-directory' is on a file system that has no extended attributes" \
    "$WINDLASS" -f "$VOL" -l refused "$MNT"
expect "what a refused daemon leaves" lock "$(ls -A "$UPPER/work")"
umount "$UPPER"
mount_volfile "$VOL"
mkdir above "$MNT/folder"
sed "s|$UPPER|$MNT/folder|" "$VOL" >above.vol
expect_error "that has no extended attributes, trusted or user: an overlay needs this" \
    "$WINDLASS" -f above.vol -l refused above
expect "what a refused daemon leaves" lock "$(ls -A "$MNT/folder/work")"
unmount

# What the overlay refuses.
rm -rf "$UPPER/layers"
mkdir -p "$UPPER/layers"
echo >"$UPPER/layers/0"
expect_error . "$WINDLASS" -f "$VOL" -l refused "$MNT"
expect_match "the log" "option 'upper' must be a directory of volume 'changes'" "$(cat refused)"
sed -i 's|subvolumes changes lower|option work-directory ../work\n    &|' "$VOL"
expect_error "option 'work-directory'.* must be a path in the first subvolume" "$WINDLASS" \
    -f "$VOL" "$MNT"
