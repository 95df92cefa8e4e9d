#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# btrfs tells seconds later that the space of removed files is free: min-free removes as many
# entries as are needed, and not all of them meanwhile, but more if a call finds no space.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command mkfs.btrfs

truncate -s 300M disk
mkfs.btrfs -q -f disk || fail "mkfs.btrfs"
mount -o loop,commit=300 disk "$BACK" 2>err || skip "needs loop devices and btrfs: $(cat err)"
trap 'umount -l "$MNT" "$BACK" 2>/dev/null' EXIT
stack debug/fault features/trash,settle=50ms,min-free=1KB
mount_volfile "$VOL"
for i in {1..8}; do
    head -c 8M /dev/urandom >"$MNT/file$i"
    rm "$MNT/file$i"
    sleep 0.02
done
wait_until '[ "$(ls "$BACK/.Trash-0/files" | wc -l)" = 8 ]'
sync -f "$BACK"
free=$(($(stat -f -c '%a * %S' "$BACK") / 1024))
sed -i "s/min-free .*/min-free \"$((free + 4096))KB\"/" "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
wait_until '[ ! -e "$BACK/.Trash-0/files/file1" ]'
touch "$MNT/last"
rm "$MNT/last"
wait_until '[ -e "$BACK/.Trash-0/files/last" ]'
expect "the others stay" "file2 file3 file4 file5 file6 file7 file8 last" \
    "$(ls "$BACK/.Trash-0/files" | xargs)"

expect_ok "$WINDLASS" fault "$MNT" - <<<'create path "/full" -> error ENOSPC'
expect_error 'No space left' touch "$MNT/full"
wait_until 20 '[ ! -e "$BACK/.Trash-0/files/file2" ]'
touch "$MNT/other"
rm "$MNT/other"
wait_until '[ -e "$BACK/.Trash-0/files/other" ]'
expect "the others" "file3 file4 file5 file6 file7 file8 last other" \
    "$(ls "$BACK/.Trash-0/files" | xargs)"
unmount
umount "$BACK"
