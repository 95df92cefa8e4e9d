#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where the file system shares blocks, the copy of a lower's file shares all of its blocks. Where a
# translator has to see the data, the copy has the same bytes without.
. "$(dirname "$0")/lib.sh"

need_root
need_command filefrag

# disk TYPE: mounts a new file system on $BACK.
disk () {
    command -v "mkfs.$1" >/dev/null || return
    truncate -s 310M disk
    "mkfs.$1" -q -f disk 2>err || fail "mkfs.$1: $(cat err)"
    mount -o loop disk "$BACK" 2>err
}

# reflink_volfile ABOVE: writes the volfile; ABOVE are lines of a volume over the lower.
reflink_volfile () {
    cat >"$VOL" <<EOF_VOL
volume changes
    type storage/posix
    option directory "$BACK/changes"
end-volume
volume storage
    type storage/posix
    option directory "$BACK/lower"
end-volume
volume lower
    $1
    subvolumes storage
end-volume
volume overlay
    type cluster/overlay
    subvolumes changes lower
end-volume
EOF_VOL
}

# extents FILE: how many it has, and how many of them are shared.
extents () {
    filefrag -v "$1" | awk '/^ +[0-9]+:/ { n++; shared += /shared/ } END { print n, shared + 0 }'
}

tried=()
for type in xfs btrfs; do
    disk $type || continue
    mkdir -p "$BACK"/{changes,lower}
    head -c 20000000 /dev/urandom >"$BACK/lower/file"
    cp "$BACK/lower/file" "$BACK/lower/seen"
    truncate -s 60M "$BACK/lower/file"
    sync -f "$BACK"
    reflink_volfile "type performance/open-behind"
    mount_volfile "$VOL"
    chmod 600 "$MNT/file"
    cmp "$BACK/lower/file" "$MNT/file" || fail "$type: the copy has other bytes"
    read -r n shared < <(extents "$BACK/changes/layers/0/file")
    [ "$n" -gt 0 ] && [ "$n" = "$shared" ] || fail "$type: of $n extents $shared are shared"
    unmount
    reflink_volfile "type debug/io-stats"
    mount_volfile "$VOL"
    chmod 600 "$MNT/seen"
    cmp "$BACK/lower/seen" "$MNT/seen" || fail "$type: the copy has other bytes"
    sync -f "$BACK"
    read -r n shared < <(extents "$BACK/changes/layers/0/seen")
    expect "$type: shared extents of a copy whose reads are counted" 0 "$shared"
    unmount
    umount "$BACK"
    rm -f disk
    tried+=("$type")
done
[ ${#tried[@]} -gt 0 ] || skip "needs mkfs.xfs or mkfs.btrfs, and loop devices"
echo "tried: ${tried[*]}"
