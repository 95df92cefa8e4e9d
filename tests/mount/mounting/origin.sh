#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass.origin has the bytes that the kernel's overlayfs records when it copies a file, for files,
# directories and symbolic links, on each type of file system that this machine can make.
. "$(dirname "$0")/../lib.sh"
need_root
need_command getfattr

value () { # NAME FILE
    getfattr -h --absolute-names --only-values -n "$1" "$2" 2>err | od -An -tx1 -v | tr -d ' \n'
}

tried=()
for type in ext4 xfs btrfs; do
    command -v "mkfs.$type" >/dev/null || continue
    truncate -s 310M disk
    "mkfs.$type" -q disk 2>err || fail "mkfs.$type: $(cat err)"
    mount -o loop disk "$BACK" 2>err || continue
    mkdir -p "$BACK"/{lower/folder,upper,work} merged
    echo text >"$BACK/lower/file"
    ln -s file "$BACK/lower/link"
    mount -t overlay -o "lowerdir=$BACK/lower,upperdir=$BACK/upper,workdir=$BACK/work" tests \
        merged 2>err || fail "overlayfs: $(cat err)"
    chmod 600 merged/file
    chmod 700 merged/folder
    touch -h -d 2001-01-01 merged/link
    umount merged
    stack
    mount_volfile "$VOL"
    for name in file folder link; do
        expect_match "what overlayfs records of $name" '^00fb..0' \
            "$(value trusted.overlay.origin "$BACK/upper/$name")"
        expect "$type: the origin of $name" "$(value trusted.overlay.origin "$BACK/upper/$name")" \
            "$(value windlass.origin "$MNT/lower/$name")"
    done
    tried+=("$type")
    unmount
    umount "$BACK"
    rm -f disk
done
[ ${#tried[@]} -gt 0 ] || skip "needs mkfs.ext4, mkfs.xfs or mkfs.btrfs, and loop devices"
echo "tried: ${tried[*]}"
