#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A directory of a GlusterFS volume is mounted as SERVER:/VOLUME/DIR; nothing of the volume outside
# of it can be reached.
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster
server=127.1.1.1

glusterd_begin $server
expect_ok gluster_do volume create home $server:"$TEST_DIR/home.d" force
expect_ok gluster_do volume start home

mount_volume $server:/home "$MNT"
mkdir -p "$MNT/a/b"
echo inner >"$MNT/a/b/file"
echo outer >"$MNT/a/file"
touch "$MNT/plain"
unmount

mount_volume $server:/home/a/b "$MNT"
expect "the root" "file" "$(cd "$MNT" && echo *)"
expect "a file" inner "$(cat "$MNT/file")"
expect "the directory above" "$(stat -c %i "$MNT")" "$(stat -c %i "$MNT/.meta/../")"
echo new >"$MNT/new"
expect "the source of the mount" $server:/home/a/b "$(findmnt -no SOURCE "$MNT" |
    sed 's/^windlass://')"
expect_ok gluster_do volume set home performance.cache-size 64MB
wait_until "grep -q \"reload: volume 'home-quick-read': option 'cache-size': .* -> '64MB'\" '$LOG'"
expect_ok gluster_do volume set home performance.write-behind off
wait_until "grep -q 'reload: the mount has moved to its new graph' '$LOG'"
expect "the files after a move" "file new" "$(cd "$MNT" && echo *)"
unmount
mount_volume $server:/home "$MNT"
expect "a file that was made there" new "$(cat "$MNT/a/b/new")"
unmount

# refused DIR REGEX: nothing is mounted
refused () {
    expect_error "$2" timeout 60 "$WINDLASS" -l "$LOG" "$server:/home/$1" "$MNT"
    expect_error '' mountpoint -q "$MNT"
}

refused none "the volume has no directory '/none' \(subdir-mount\)"
refused a/none "the volume has no directory '/a/none' \(subdir-mount\)"
refused plain "can't look up the root of 'home': Not a directory"
