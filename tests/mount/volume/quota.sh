#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# df on a volume with quotas shows the limits and the use, as a stock client does: of the whole
# volume, and of a directory with a limit of its own. A quota is no reason to put files elsewhere.
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster glusterfs
server=127.1.1.1

glusterd_begin $server

# limited VOLUME BRICK...: the volume has 100 MB, and its directory q half of them. A stock client
# has mounted it.
limited () {
    local volume=$1
    shift
    expect_ok gluster_do volume create "$volume" "${@/#/$server:$TEST_DIR/}" force
    expect_ok gluster_do volume set "$volume" min-free-disk 150MB
    expect_ok gluster_do volume start "$volume"
    expect_ok gluster_do volume quota "$volume" enable
    mkdir -p stock
    glusterfs -s $server --volfile-id="$volume" -l "$TEST_DIR/stock.log" "$TEST_DIR/stock"
    wait_until "mkdir -p stock/q/inner stock/other 2>/dev/null"
    expect_ok gluster_do volume quota "$volume" limit-usage / 100MB
    expect_ok gluster_do volume quota "$volume" limit-usage /q 50MB
}
limited d one.d two.d three.d
mount_volume $server:/d "$MNT"

# df_of MOUNT NAME: size, use, what is left, in KiB
df_of () {
    df -k --output=size,used,avail,pcent "$1/$2" | tail -n 1
}
# df_is NAME SIZE: both clients show this size, and the same use. Bricks learn of the use one after
# the other.
df_is () {
    wait_until "df_of stock '$1' | grep -q '^ *$2 ' &&
        [ \"\$(df_of stock '$1')\" = \"\$(df_of '$MNT' '$1')\" ]"
}
df_is . 102400
df_is q 51200
df_is q/inner 51200
df_is other 102400

for i in 1 2 3 4 5 6 7 8; do
    head -c 6M /dev/zero >"$MNT/q/$i" || fail "file $i can't be written"
done
wait_until "df_of '$MNT' q | awk '{ exit !(\$2 >= 49152) }'"
df_is q 51200
df_is q/1 102400

# What is removed, but still used, is of the whole volume's file system.
mkdir "$MNT/gone"
exec 7<"$MNT/gone"
rmdir "$MNT/gone"
expect_ok stat -f /proc/self/fd/7
exec 7<&-

# The disks have more than min-free-disk, which is more than the quota.
expect_no_match "the log" 'has less free space than min-free-disk' "$(cat "$LOG")"
umount stock
unmount

# One brick has all files, and tells of each by its directory.
limited single four.d
echo text >stock/q/file
mount_volume $server:/single "$MNT"
df_is . 102400
df_is q 51200
df_is q/file 51200
umount stock
unmount
