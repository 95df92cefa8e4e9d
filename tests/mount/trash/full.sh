#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A full disk whose space, or whose inodes, are with what has no entry yet: with min-free that is
# removed for good, and writes go on. Of a disk without inodes the oldest entries go, too.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

mount -t tmpfs -o size=8m tmpfs "$BACK" || skip "needs mount"
stack features/trash,settle=1h,min-free=2MB
mount_volfile "$VOL"
for i in 1 2 3 4 5 6; do
    head -c 1M /dev/zero >"$MNT/file$i"
    rm "$MNT/file$i"
done
expect "none has an entry" "" "$(find "$BACK" -name '*.trashinfo')"
wait_until 'head -c 4M /dev/zero >"$MNT/large" 2>/dev/null'
expect_match "it is told" 'removed for good instead, lastly for ENOSPC' \
    "$("$WINDLASS" explain "$MNT/large")"
echo text >"$MNT/text"
expect "what is written" text "$(cat "$MNT/text")"
unmount
umount "$BACK"

# A quarter of the space is a quarter of the inodes. fill: uses up what is left of them.
inodes_free () { stat -f -c %d "$BACK"; }
fill () {
    local i=0
    while touch "$BACK/filler$((i++))" 2>/dev/null; do :; done
}
mount -t tmpfs -o size=8m,nr_inodes=80 tmpfs "$BACK"
mount_volfile "$VOL"
mkdir "$MNT/dir"
touch "$MNT"/dir/{1..40}
rm "$MNT"/dir/*
fill
expect_error 'No space left' mkdir "$MNT/one_more"
wait_until 'mkdir "$MNT/one_more" 2>/dev/null'
wait_until '[ "$(inodes_free)" -ge 20 ]'
expect_match "it is told" 'removed for good instead, lastly for ENOSPC' \
    "$("$WINDLASS" explain "$MNT/one_more")"
unmount
umount "$BACK"

sed -i 's/settle .*/settle "20ms"/' "$VOL"
mount -t tmpfs -o size=8m,nr_inodes=80 tmpfs "$BACK"
mount_volfile "$VOL"
for i in 1 2 3; do
    mkdir "$MNT/tree$i"
    touch "$MNT/tree$i"/{1..10}
    rm -r "$MNT/tree$i"
    wait_until '[ -e "$BACK/.Trash-0/files/tree$i" ]'
done
fill
expect_error 'No space left' mkdir "$MNT/one_more"
wait_until 'mkdir "$MNT/one_more" 2>/dev/null'
wait_until '[ "$(inodes_free)" -ge 20 ]'
expect "the youngest entry" tree3 "$(ls "$BACK/.Trash-0/files")"
unmount
umount "$BACK"

# Others take the space that is being freed: that is no file system which tells late what is free.
# Each entry takes a fifth of a second to remove, and half of that to make.
delay=debug/delay-gen,delay-percentage=100%,delay-duration=100000
stack $delay,enable=create $delay,enable=unlink \
    features/trash,settle=20ms,min-free=1KB
mount -t tmpfs -o size=16m tmpfs "$BACK"
mount_volfile "$VOL"
for i in {1..8}; do
    head -c 1M /dev/zero >"$MNT/file$i"
    rm "$MNT/file$i"
    wait_until '[ -e "$BACK/.Trash-0/files/file$i" ]'
done
sed -i "s/min-free .*/min-free \"$(($(stat -f -c '%a * %S' "$BACK") / 1024 + 2560))KB\"/" "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
wait_until '[ ! -e "$BACK/.Trash-0/files/file1" ]'
head -c 3M /dev/zero >"$BACK/other"
wait_until 20 'touch "$MNT/last"; rm "$MNT/last"; [ ! -e "$BACK/.Trash-0/files/file6" ]'
expect "the youngest entries" "file7 file8" "$(cd "$BACK/.Trash-0/files" && ls | grep file | xargs)"

# The same while many entries are made.
mkdir "$BACK/dir"
touch "$BACK"/dir/{1..100}
rm "$MNT"/dir/*
wait_until '[ -e "$BACK/.Trash-0/files/1" ]'
head -c 2M /dev/zero >>"$BACK/other"
wait_until '[ ! -e "$BACK/.Trash-0/files/file7" ]'
expect_match "what has no entry yet" '/[0-9]+$' "$(find "$BACK/.windlass-trash" -type f)"
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
DAEMON=''
umount -l "$MNT"
umount "$BACK"
