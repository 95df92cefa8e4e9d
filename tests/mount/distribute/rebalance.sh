#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A rebalance of GlusterFS moves the files of a volume to a new brick while they are written,
# renamed, made and removed through a mount of ours. Nothing that a write, a close or a rename
# confirmed is lost, neither in the mount nor for a stock client.
# timeout: 600
# long
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster glusterfs
server=127.1.1.1

glusterd_begin $server
expect_ok gluster_do volume create home $server:"$TEST_DIR"/{a,b}.d force
expect_ok gluster_do volume start home
mkdir stock
glusterfs -s $server --volfile-id=home -l "$TEST_DIR/stock.log" "$TEST_DIR/stock"
mkdir -p stock/d{1..4}
for i in {1..400}; do
    head -c $((RANDOM * 20)) /dev/urandom >stock/d$((i % 4 + 1))/file$i
done
(cd stock && find . -type f -exec sha256sum {} + | sort -k 2) >sums
umount stock

expect_ok gluster_do volume add-brick home $server:"$TEST_DIR/c.d" force
mount_volume $server:/home "$MNT"

python3 -u "$SOURCE_DIR/tests/mount/distribute/load.py" "$MNT" sums "$TEST_DIR/stop" >load.out 2>&1 &
load=$!
wait_until "grep -q ready load.out || ! kill -0 $load"
expect_ok gluster_do volume set home cluster.rebal-throttle lazy
expect_ok gluster_do volume rebalance home start force
rebalance_is_over () {
    gluster_do volume rebalance home status | grep -q 'completed\|failed'
}
wait_until 400 rebalance_is_over
touch stop
wait $load || fail "$(tail -20 load.out)"
expect_match "the rebalance" completed "$(gluster_do volume rebalance home status)"
[ "$(find c.d -name 'file*' -size +0 | wc -l)" -gt 20 ] || fail "the rebalance moved nothing"

glusterfs -s $server --volfile-id=home -l "$TEST_DIR/stock.log" "$TEST_DIR/stock"
for mount in "$MNT" stock; do
    (cd $mount && find . -type f -exec sha256sum {} + | sort -k 2) >sums.now
    expect "what differs in $mount" "" "$(diff <(sort -k 2 sums) sums.now)"
done
tail -1 load.out
umount stock
