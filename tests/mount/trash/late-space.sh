#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# btrfs tells only with its next commit that the space of removed files is free: min-free removes as
# many entries as are needed, and none meanwhile, also if calls fail for a quota or for space.
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

# stay WHAT NAME...: an entry is made, after which the limits have been held; those of the files are
# then the given ones.
stay () {
    local what=$1

    shift
    touch "$MNT/last"
    rm "$MNT/last"
    wait_until '[ -e "$BACK/.Trash-0/files/last" ]'
    rm "$BACK"/.Trash-0/{info/last.trashinfo,files/last}
    expect "$what" "$*" "$(ls "$BACK/.Trash-0/files" | xargs)"
}
stay "the others" file{2..8}

# Neither error says that less is free than min-free.
for error in EDQUOT EDQUOT EDQUOT ENOSPC ENOSPC ENOSPC; do
    expect_ok "$WINDLASS" fault "$MNT" - <<<"create path \"/full\" -> error $error"
    expect_error 'quota exceeded|No space left' touch "$MNT/full"
    stay "after $error" file{2..8}
done

# Others take the space.
head -c 6M /dev/urandom >"$BACK/other"
sync -f "$BACK"
expect_error 'No space left' touch "$MNT/full"
wait_until '[ ! -e "$BACK/.Trash-0/files/file2" ]'
stay "after others" file{3..8}
expect_error 'No space left' touch "$MNT/full"
stay "and once more" file{3..8}
expect_match "it is told" 'entries that limits have removed for good: 2 ' \
    "$("$WINDLASS" explain "$MNT/other")"

# The same where the file system can't be synced.
expect_ok "$WINDLASS" fault "$MNT" - <<'END'
fsyncdir path "/" -> error EIO
create path "/full" -> error ENOSPC
END
head -c 8M /dev/urandom >>"$BACK/other"
sync -f "$BACK"
expect_error 'No space left' touch "$MNT/full"
wait_until '[ ! -e "$BACK/.Trash-0/files/file3" ]'
for i in 1 2 3; do
    expect_error 'No space left' touch "$MNT/full"
    stay "without a sync" file{4..8}
done
unmount
umount "$BACK"
