#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mount of a GlusterFS volume follows its volfile: options that the server changes are in force at
# once, over ends of glusterd, and a volfile that is refused changes nothing.
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster
server=127.1.1.1

glusterd_begin $server
expect_ok gluster_do volume create home $server:"$TEST_DIR/home.d" force
expect_ok gluster_do volume set home performance.io-cache on
expect_ok gluster_do volume start home
mount_volume 127.1.1.2,$server:/home "$MNT"

# option VOLUME KEY: the value in force
option () {
    cat "$MNT/.meta/graphs/active/$1/options/$2"
}

# An option that may change while it is mounted.
expect_ok gluster_do volume set home performance.cache-size 64MB
wait_until "grep -q \"reload: volume 'home-io-cache': option 'cache-size': .* -> '64MB'\" '$LOG'"
expect "the value in force" 64MB "$(option home-io-cache cache-size)"
expect_match "the log" "the server has changed the volfile of '127.1.1.2,$server:/home'" \
    "$(cat "$LOG")"
expect_match "a reload fetches it from the server" "^no option changed$" \
    "$("$WINDLASS" reload "$MNT")"

# A state dump, of this process only, and at most one in ten seconds. glusterd knows a client by the
# address that 'volume status' prints.
for pid in $$ "$DAEMON" "$DAEMON"; do
    expect_ok gluster_do volume statedump home client "127.0.0.1:$pid"
done
wait_until "grep -q \"state dumped to\" '$LOG'"
dump=$(sed -n "s/.*state dumped to '\(.*\)'.*/\1/p" "$LOG")
expect_match "the dump" "$server:$TEST_DIR/home.d" "$(cat "$dump")"
expect_ok gluster_do volume set home performance.cache-size 32MB # glusterd's calls are in order
wait_until "grep -q \"'cache-size': '64MB' -> '32MB'\" '$LOG'"
expect "how many dumps" 1 "$(grep -c "glusterd of $server asks for a state dump" "$LOG")"
expect_ok gluster_do volume set home performance.cache-size 64MB
wait_until "grep -q \"'cache-size': '32MB' -> '64MB'\" '$LOG'"

# A volfile that is refused changes nothing; the log has its line and what is wrong.
expect_ok gluster_do volume set home features.shard on
wait_until "grep -q 'reload: nothing was changed' '$LOG'"
expect_match "what is said" "reload: .*$server:/home:[0-9]+:[0-9]+: error: volume 'home-shard': \
type 'features/shard' is not in Windlass, and can't be left out: large files are stored in pieces" \
    "$(cat "$LOG")"
expect_error "can't be left out" "$WINDLASS" reload "$MNT"
expect_ok touch "$MNT/file"
expect_ok gluster_do volume set home features.shard off
wait_until "grep -q 'reload: no option changed' '$LOG'"

# Without glusterd the mount goes on; when it is back, its volfile is compared.
brick_kill glusterd
wait_until "grep -q \"changes of the volfile of 'home' go unseen for now: glusterd of\" '$LOG'"
expect_error "no glusterd listens at $server, port 24007" "$WINDLASS" reload "$MNT"
echo text >"$MNT/file" || fail "a write fails while there is no glusterd"
sed -i '/io-cache/,/end-volume/s/cache-size 64MB/cache-size 96MB/' \
    "$TEST_DIR"/glusterd/vols/home/*fuse.vol
glusterd_start
wait_until "grep -q \"option 'cache-size': '64MB' -> '96MB'\" '$LOG'"
expect_match "the log" "changes of the volfile of 'home' are reported by $server again" "$(cat "$LOG")"
expect_ok gluster_do volume set home performance.cache-size 80MB
wait_until "grep -q \"volume 'home-io-cache': option 'cache-size': '96MB' -> '80MB'\" '$LOG'"
expect "the value in force" 80MB "$(option home-io-cache cache-size)"
unmount
