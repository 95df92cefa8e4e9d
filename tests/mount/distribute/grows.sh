#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A volume grows and shrinks while files are written through a mount of ours, which sees no error: a
# brick is added, directories get hashes there (fix-layout), files are moved to it (rebalance), and
# a brick is removed (remove-brick start, commit), while what it has moves to others. The mount
# follows each change of the volfile. A file with a record lock stays where it is, and its lock
# holds.
# timeout: 600
# long
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster glusterfs
server=127.1.1.1

glusterd_begin $server
expect_ok gluster_do volume create home $server:"$TEST_DIR"/{a,b}.d force
expect_ok gluster_do volume start home
mount_volume $server:/home "$MNT"
mkdir "$MNT"/d{1..4} "$MNT/held"
for i in {1..20}; do
    echo $i >"$MNT/held/$i"
done
for i in {1..150}; do
    head -c $((RANDOM * 5)) /dev/urandom >"$MNT/d$((i % 4 + 1))/file$i"
done
(cd "$MNT" && find ./d[1-4] -type f -exec sha256sum {} + | sort -k 2) >sums
python3 -u "$SOURCE_DIR/tests/mount/distribute/load.py" "$MNT" sums "$TEST_DIR/stop" >load.out 2>&1 &
load=$!
wait_until "grep -q ready load.out || ! kill -0 $load"
goes_on () {
    kill -0 $load 2>/dev/null || fail "after $1: $(tail -20 load.out)"
}

has_hashes () {
    getfattr -n trusted.glusterfs.dht -e hex "$1" 2>/dev/null | grep '^trusted.*=0x' |
        cut -c 41- | grep -qv '^0*$'
}

# --- a brick more ---------------------------------------------------------------------------------

expect_ok gluster_do volume add-brick home $server:"$TEST_DIR/c.d" force
wait_until "grep -q 'the mount has moved to its new graph' '$LOG'"
mkdir_new () {
    mkdir "$MNT/new$((made += 1))" && has_hashes c.d/new$made
}
made=0
wait_until mkdir_new
goes_on add-brick
has_hashes c.d/d1 && fail "an old directory has hashes on the new brick before a rebalance"

is_over () {
    gluster_do volume "$@" status | grep -q 'completed\|failed'
}
expect_ok gluster_do volume rebalance home fix-layout start
wait_until 'is_over rebalance home'
for i in {1..4}; do
    has_hashes c.d/d$i || fail "fix-layout gave d$i no hashes on the new brick"
done
goes_on fix-layout

# A file that the rebalance would move
held=
for i in {1..20}; do
    on=$(getfattr --absolute-names --only-values -n "dht.file.hashed-subvol.$i" "$MNT/held")
    [ "$on" != home-client-2 ] || held=$i
done
[ -n "$held" ] || fail "no file of 20 has its hash on the new brick"
exec 9<>"$MNT/held/$held"
flock -n 9 || fail "no lock"

expect_ok gluster_do volume rebalance home start force
wait_until 300 'is_over rebalance home'
expect_match "the rebalance" completed "$(gluster_do volume rebalance home status)"
[ "$(find c.d -name 'file*' -size +0 | wc -l)" -gt 5 ] || fail "the rebalance moved nothing"
goes_on "the rebalance"
[ ! -s "c.d/held/$held" ] || fail "the rebalance moved a file with a lock"
expect_error '' flock -n "$MNT/held/$held" true
echo more >&9
exec 9>&-
wait_until "flock -n '$MNT/held/$held' true" # the kernel releases after close has returned

# --- a brick less ---------------------------------------------------------------------------------

remove () {
    gluster_do volume remove-brick home $server:"$TEST_DIR/a.d" "$1"
}
expect_ok remove start
until_removed () {
    local end=$((SECONDS + 300))
    until remove status >status 2>&1 && grep -q 'completed\|failed' status; do
        [ $SECONDS -lt $end ] || fail "the brick is not empty after 300 s: $(cat status
            tail -20 glusterd-log/home-rebalance.log
            "$WINDLASS" inflight "$MNT")"
        sleep 0.2
    done
}
until_removed
goes_on "remove-brick start"
touch stop
wait $load || fail "$(tail -20 load.out)"
tail -1 load.out
(cd "$MNT" && find ./d[1-4] -type f -exec sha256sum {} + | sort -k 2) >sums.now
expect "what differs" "" "$(diff <(sort -k 2 sums) sums.now)"

# A file that was written while it was copied stays, and the next attempt moves it. While the last
# one had failures, the commit is refused.
left () {
    find a.d -name .glusterfs -prune -o -name 'file*' -size +0 -print
}
for _ in 1 2 3; do
    expect_ok remove stop
    expect_ok remove start
    until_removed
done
expect "files on the brick that leaves" "" "$(left)"
expect_ok remove commit
wait_until "grep -q \"'home-client-0' of type 'protocol/client' is not in the graph\" '$LOG'"
wait_until "grep -q 'moved to its new graph' <(tail -n 3 '$LOG')"
(cd "$MNT" && find ./d[1-4] -type f -exec sha256sum {} + | sort -k 2) >sums.now
expect "what differs" "" "$(diff <(sort -k 2 sums) sums.now)"
mkdir "$MNT/last"
echo text >"$MNT/last/file" || fail "a new file can't be made"
expect "bricks with the last directory" "b.d/last
c.d/last" "$(ls -d {a,b,c}.d/last 2>/dev/null)"
unmount
