#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# rm -r with a brick that reports changes (features/upcall). The brick also reports each inode that
# it drops, so each file and directory that this client itself removes. Neither that, nor a change
# by another client in another directory, makes md-cache forget the attributes of the directory,
# which the kernel asks for before each removal.
. "$(dirname "$0")/lib.sh"

FILES=200
brick one
brick_volfile one
cp "$VOL" "$TEST_DIR/other.vol"
cat >>"$VOL" <<EOF
volume md-cache
    type performance/md-cache
    option cache-invalidation on
    option md-cache-timeout 600
    subvolumes one
end-volume
EOF
mount_volfile "$VOL"

# count KEY
count () {
    sed -n "s/^$1 *= *//p" "$MNT/.meta/graphs/active/md-cache/private"
}

# fill FOLDER: files, and folders between them
fill () {
    local i

    mkdir "$1"
    for i in $(seq $FILES); do
        touch "$1/file$i"
        [ $((i % 20)) != 0 ] || mkdir "$1/sub$i"
    done
}

# few WHEN: the brick was asked for attributes for few of the removed files
few () {
    local asked=$(($(count stat_miss_count) - before))

    [ "$asked" -lt $((FILES / 4)) ] ||
        fail "$1: removing $FILES files asked the brick for attributes $asked times"
}

fill "$MNT/dir"
told=$(count stat_invals_received) before=$(count stat_miss_count)
rm -r "$MNT/dir"
wait_until "[ \$(count stat_invals_received) -gt $told ]"
few "alone"
expect "what is left" "" "$(find "$TEST_DIR/one.d" -mindepth 1 -name .glusterfs -prune -o -print)"

mkdir "$MNT/elsewhere" "$TEST_DIR/second"
fill "$MNT/dir"
"$WINDLASS" -l "$TEST_DIR/second.log" -f "$TEST_DIR/other.vol" "$TEST_DIR/second" ||
    fail "the second client is not mounted"
before=$(count stat_miss_count)
for i in $(seq $FILES); do
    if [ $((i % 20)) = 1 ]; then
        ls "$MNT/elsewhere" >"$TEST_DIR/listed" # the brick reports changes to who has looked
        told=$(count stat_invals_received)
        echo >"$TEST_DIR/second/elsewhere/$i"
        wait_until "[ \$(count stat_invals_received) -gt $told ]"
    fi
    rm "$MNT/dir/file$i"
done
few "while another client makes files elsewhere"
expect "the other client's files" 10 "$(find "$MNT/elsewhere" -type f | wc -l)"
umount "$TEST_DIR/second"
unmount
