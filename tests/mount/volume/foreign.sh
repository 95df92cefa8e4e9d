#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Types that glusterd writes into a volfile and Windlass does not have: they are left out, replaced
# or refused, and the messages say with what effect.
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster glusterfs
server=127.1.1.1

glusterd_begin $server
expect_ok gluster_do volume create home $server:"$TEST_DIR/one.d" $server:"$TEST_DIR/two.d" force
expect_ok gluster_do volume start home

stock () {
    mkdir -p stock
    glusterfs -s $server --volfile-id=home -l "$TEST_DIR/stock.log" "$TEST_DIR/stock" ||
        fail "no stock mount: $(grep -a " E " stock.log)"
}

# Snapshots: a mount follows, and a new mount works.
mount_volume $server:/home "$MNT"
expect_ok gluster_do volume set home features.uss enable
snapshots="type 'features/snapview-client' is not in Windlass; without it there is no directory \
.snaps \(its options: .*snapshot-directory \.snaps"
wait_until "grep -Eq \"$snapshots\" '$LOG'"
wait_until "grep -q 'reload: no option changed' '$LOG'"
expect_ok gluster_do volume set home performance.quick-read-cache-size 64MB
wait_until "grep -q \"volume 'home-quick-read': option 'cache-size': .* -> '64MB'\" '$LOG'"
unmount
mount_volume $server:/home "$MNT"
expect_match "what is said" "$snapshots" "$(cat err "$LOG")"
expect_no_match "what is said of snapd" "not used" "$(cat err "$LOG")"
expect_error 'No such file' ls "$MNT/.snaps"
expect_ok gluster_do volume set home features.uss disable

# nufa: each client finds what the other has made.
instead="is not in Windlass; cluster/distribute takes its place: a new file lies on the brick that \
its name decides, not on one"
expect_ok gluster_do volume set home cluster.nufa on
expect_ok gluster_do volume set home cluster.local-volume-name home-client-1
wait_until "grep -q \"'local-volume-name': unset -> 'home-client-1'\" '$LOG'"
unmount
stock
mount_volume $server:/home "$MNT"
expect_match "what is said" "type 'cluster/nufa' $instead of this machine \(its options: " \
    "$(cat err "$LOG")"
for i in {1..20}; do
    echo "stock $i" >"stock/file.$i"
done
expect "where nufa puts files" two.d \
    "$(find one.d two.d -name "file.*" -size +0 -printf '%H\n' | sort -u)"
for i in {1..20}; do
    expect "what is read" "stock $i" "$(cat "$MNT/file.$i")"
    echo ours >>"$MNT/file.$i"
    mv "$MNT/file.$i" "$MNT/moved.$i"
    echo new >"$MNT/new.$i"
done
umount stock
stock
for i in {1..20}; do
    expect "what the stock client reads" "stock $i ours new" \
        "$(cat "stock/moved.$i" "stock/new.$i" | paste -sd' ')"
done
expect "what is listed" "$(ls stock)" "$(ls "$MNT")"
umount stock
unmount
expect_ok gluster_do volume set home cluster.nufa off

# GlusterFS 10.3's own client doesn't take a pattern.
expect_ok gluster_do volume set home cluster.switch on
expect_ok gluster_do volume set home cluster.switch-pattern '*.c:home-client-1'
expect_match "what is said" "type 'cluster/switch' $instead that a pattern names \(its options: .*\
pattern.switch.case \*\.c:home-client-1" "$("$WINDLASS" check $server:/home 2>&1)"
expect_ok gluster_do volume set home cluster.switch off

# Compressed calls.
expect_ok gluster_do volume set home network.compression on
expect_error "type 'features/cdc' is not in Windlass, and can't be left out: the servers compress \
what is read, and .*'gluster volume set VOLUME network.compression off' ends that \(its options: \
mode client\)" "$WINDLASS" check $server:/home
