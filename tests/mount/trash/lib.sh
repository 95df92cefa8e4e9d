# SPDX-License-Identifier: LGPL-2.1-or-later
. "$(dirname "$0")/../lib.sh"

# entries: the former paths of all entries of user $1, sorted.
entries () {
    cat "$MNT/.Trash-${1-0}"/info/*.trashinfo 2>/dev/null | sed -n 's/^Path=//p' | sort | xargs
}

# settled: no stage waits to become entries.
settled () {
    wait_until '[ -z "$(find "$BACK" -mindepth 4 -path "*/.windlass-trash*" \
        ! -path "*/trashes/*")" ]'
}

# asked: asks for what was removed, which becomes entries at once, whatever `settle` says. So a busy
# machine, on which rm rests longer than that, makes no second entry of a tree. Only root's own mount
# has trashes of several users.
asked () {
    "$WINDLASS" trash list "$MNT" --all >/dev/null 2>&1 ||
        expect_ok "$WINDLASS" trash list "$MNT"
    settled
}

# gluster_mount OPTIONS: the trash of GlusterFS, over stock.d, at stock.
gluster_mount () {
    mkdir -p stock stock.d
    cat >stock.vol <<END
volume posix
    type storage/posix
    option directory $TEST_DIR/stock.d
end-volume
volume trash
    type features/trash
    option brick-path $TEST_DIR/stock.d
$1
    subvolumes posix
end-volume
END
    glusterfs -f "$TEST_DIR/stock.vol" -l "$TEST_DIR/stock.log" --entry-timeout=0 \
        --attribute-timeout=0 "$TEST_DIR/stock"
    wait_until 'mountpoint -q "$TEST_DIR/stock"'
    wait_until '[ -d "$TEST_DIR/stock.d/.trashcan" ]'
}

# mount_like_gluster: our trash with the same options, over $BACK.
mount_like_gluster () {
    sed "s|stock.d|back|; s|type features/trash|&\n    option layout gluster|" stock.vol >"$VOL"
    mount_volfile "$VOL"
    ls "$MNT" >/dev/null
}
