#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A volume whose servers demand TLS, for their glusterd and for its bricks, is mounted by its name.
# The file that turns TLS on for glusterd must be on both sides.
. "$(dirname "$0")/../brick/tls-lib.sh"
need_command glusterd gluster glusterfs
server=127.1.1.1
secure=/var/lib/glusterd/secure-access

ca one
certificate both one
folder=$(openssl version -d | cut -d'"' -f2)
for hidden in "$folder" /etc/ssl; do
    mount -t tmpfs tests "$hidden" || fail "could not hide $hidden"
done
glusterd_begin $server $secure

# volume_refused REGEX
volume_refused () {
    expect_error "$1" timeout 60 "$WINDLASS" -l "$LOG" $server:/home "$MNT"
    expect_error '' mountpoint -q "$MNT"
}

volume_refused "no TLS with glusterd, as .*secure-access demands: .*'$folder/glusterfs\.pem'"
brick_end glusterd TERM
for shown in "$folder" /etc/ssl; do # GlusterFS reads one of them, by how it was built
    cp both.pem "$shown/glusterfs.pem"
    cp both.key "$shown/glusterfs.key"
    cp one.pem "$shown/glusterfs.ca"
done
glusterd -N -f glusterd.vol -p glusterd.pid -l glusterd-log/glusterd.log >/dev/null 2>&1 &
BRICK_PID[glusterd]=$!
wait_until "gluster_do pool list >/dev/null 2>&1"
expect_ok gluster_do volume create home $server:"$TEST_DIR/home.d" force
expect_ok gluster_do volume set home server.ssl on
expect_ok gluster_do volume set home client.ssl on
expect_ok gluster_do volume set home auth.ssl-allow both
expect_ok gluster_do volume start home

mount_volume $server:/home "$MNT"
head -c 3000000 /dev/urandom >data
cp data "$MNT/data"
expect_match "how it is encrypted" "encryption = TLSv1\.[23], .*certificate is of 'both'" \
    "$(cat "$MNT/.meta/graphs/active/home-client-0/private")"
expect_ok gluster_do volume set home performance.cache-size 64MB
wait_until "grep -q \"reload: volume 'home-quick-read': option 'cache-size': .* '64MB'\" '$LOG'"
unmount
mkdir stock
glusterfs -s $server --volfile-id=home -l "$TEST_DIR/stock.log" "$TEST_DIR/stock"
expect_ok cmp data stock/data
umount stock

rm $secure
volume_refused "$server, port 24007, has closed the connection; if it demands TLS, .*$secure"
