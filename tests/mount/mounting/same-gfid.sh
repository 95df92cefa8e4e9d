#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A file keeps its gfid when the device of its file system gets another number, as at a restart of
# the machine, and when the file system is mounted below the directory in place of on it. A copy of
# the disk that is mounted beside it has gfids of its own.
. "$(dirname "$0")/../lib.sh"
need_root
need_command losetup

loops=()
detach () {
    [ ${#loops[@]} = 0 ] || losetup -d "${loops[@]}" 2>/dev/null
}
trap 'status=$?; detach; (exit $status); cleanup' EXIT

# mount_disk DISK FOLDER: through a device that no disk of this test had before: those stay attached.
mount_disk () {
    local loop
    loop=$(losetup -f --show "$1" 2>err) || skip "no loop device: $(cat err)"
    loops+=("$loop")
    mount "$loop" "$2" 2>err || fail "mount $1: $(cat err)"
}
gfid () { # PATH
    "$WINDLASS" explain "$1" | sed -n '1s/.*, gfid \([0-9a-f-]*\).*/\1/p'
}
gfids () { # FOLDER
    local name
    for name in file folder folder/inner fifo; do
        echo "$name $(gfid "$1/$name")"
    done
}

tried=()
for type in ext4 xfs btrfs; do
    command -v "mkfs.$type" >/dev/null || continue
    truncate -s 310M disk
    "mkfs.$type" -q disk 2>err || fail "mkfs.$type: $(cat err)"
    mount_disk disk "$BACK" || continue
    tried+=("$type")
    mkdir "$BACK/folder" "$BACK/below"
    echo text >"$BACK/file"
    echo inner >"$BACK/folder/inner"
    mkfifo "$BACK/fifo"
    stack
    mount_volfile "$VOL"
    before=$(gfids "$MNT")
    device=$(stat -c %d "$BACK/file")
    expect "files with a gfid" 4 "$(grep -c ' [0-9a-f-]\{36\}$' <<<"$before")"
        expect "different gfids" 4 "$(cut -d' ' -f2 <<<"$before" | sort -u | wc -l)"
    unmount
    umount "$BACK"

    mount_disk disk "$BACK"
    [ $type = btrfs ] || [ "$device" != "$(stat -c %d "$BACK/file")" ] ||
        fail "$type: the device has its number again"
    mount_volfile "$VOL"
    expect "$type: gfids on another device" "$before" "$(gfids "$MNT")"
    unmount
    umount "$BACK"

    mkdir "$BACK/disk" "$BACK/copy"
    mount_disk disk "$BACK/disk"
    mount_volfile "$VOL"
    expect "$type: gfids below another directory" "$before" "$(gfids "$MNT/disk")"
    if [ $type = ext4 ]; then
        cp disk copy.disk
        mount_disk copy.disk "$BACK/copy"
        wait_until "[ -e '$MNT/copy/file' ]"
        expect "the original's gfids" "$before" "$(gfids "$MNT/disk")"
        [ "$(gfid "$MNT/copy/file")" != "$(gfid "$MNT/disk/file")" ] || fail "copies have one gfid"

        # The disk comes back under another device while the mount goes on, and has files of the
        # earlier one open.
        umount -l "$BACK/copy" "$BACK/disk" || fail "umount -l"
        wait_until "! [ -e '$MNT/disk/file' ]"
        mount_disk disk "$BACK/disk"
        wait_until "[ -e '$MNT/disk/file' ]"
        expect "gfids on a third device" "$before" "$(gfids "$MNT/disk")"
        echo "written on the third device" >"$BACK/disk/file"
        wait_until "grep -q third '$MNT/disk/file'"
    fi
    unmount
    umount "$BACK"/* 2>/dev/null
    detach
    loops=()
    rm -rf "${BACK:?}"/* disk copy.disk
done
[ ${#tried[@]} -gt 0 ] || skip "needs mkfs.ext4, mkfs.xfs or mkfs.btrfs"
echo "tried: ${tried[*]}"
