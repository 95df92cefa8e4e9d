#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A volume over directories that have files already: their objects get a gfid when they are first
# looked up, the same on all copies, and are usable by this client and by the stock one.
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster glusterfs getfattr
server=127.1.1.1

for brick in r1 r2 r3; do
    mkdir -p "$TEST_DIR/$brick/old/sub"
    echo text >"$TEST_DIR/$brick/old/file"
    echo top >"$TEST_DIR/$brick/top"
done
for brick in d1 d2 d3; do
    mkdir -p "$TEST_DIR/$brick/old/sub"
    for i in $(seq 9); do
        echo "$i of $brick" >"$TEST_DIR/$brick/old/$brick-$i"
    done
done
made=$(date +%s)
glusterd_begin $server
expect_ok gluster_do volume create copies replica 3 $server:"$TEST_DIR/"{r1,r2,r3} force
expect_ok gluster_do volume create parts $server:"$TEST_DIR/"{d1,d2,d3} force
for volume in copies parts; do
    expect_ok gluster_do volume start $volume
done
wait_until "[ \$(date +%s) -gt $((made + 2)) ]" # a brick takes younger ones for being made

# gfids PATH BRICK...: how many different ones it has there
gfids () {
    local path=$1
    shift
    getfattr --absolute-names -e hex -n trusted.gfid "${@/%//$path}" | grep '^trusted' | sort -u |
        wc -l
}

mount_volume $server:/copies "$MNT"
expect "a file" text "$(cat "$MNT/old/file")"
expect "the names" "file sub" "$(ls "$MNT/old" | paste -sd' ')"
expect "an empty directory" "" "$(ls "$MNT/old/sub")"
expect "the root" "old top" "$(ls -l "$MNT" | awk 'NR > 1 { print $9 }' | paste -sd' ')"
for path in old old/file old/sub top; do
    expect "gfids of '$path'" 1 "$(gfids $path "$TEST_DIR/"{r1,r2,r3})"
done
echo more >>"$MNT/old/file"
touch "$MNT/old/sub/new"
unmount
mkdir stock
glusterfs -s $server --volfile-id=copies -l "$TEST_DIR/stock.log" "$TEST_DIR/stock"
expect "what the stock client reads" "text more" "$(paste -sd' ' stock/old/file)"
expect "and lists" new "$(ls stock/old/sub)"
umount stock

mount_volume $server:/parts "$MNT"
touch "$MNT/old/sub/new"
expect "gfids of a directory" 1 "$(gfids old/sub "$TEST_DIR/"{d1,d2,d3})"
for brick in d1 d2 d3; do
    for i in $(seq 9); do
        cat "$MNT/old/$brick-$i" 2>&1
    done
done >seen
expect "files on any brick" "$(for brick in d1 d2 d3; do
    for i in $(seq 9); do echo "$i of $brick"; done
done)" "$(cat seen)"
unmount
