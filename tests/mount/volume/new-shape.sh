#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# When the server changes the shape of a GlusterFS volume, its mounts follow while programs write,
# list and hold locks, and over an end of glusterd.
# long
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster flock
server=127.1.1.1

glusterd_begin $server
expect_ok gluster_do volume create home $server:"$TEST_DIR/home.d" force
expect_ok gluster_do volume start home
mkdir other
"$WINDLASS" -l "$TEST_DIR/other.log" $server:/home other || fail "not mounted: other"
mount_volume $server:/home "$MNT"

moves=0
# moved OPTION VALUE: the server changes it, and the mount moves.
moved () {
    moves=$((moves + 1))
    expect_ok gluster_do volume set home "$1" "$2"
    wait_until "[ \$(grep -c 'reload: the mount has moved to its new graph' '$LOG') -ge $moves ]"
}

# volumes: the translators of the mount's graph
volumes () {
    ls "$MNT/.meta/graphs/active"
}

mkdir "$MNT/many"
touch "$MNT"/many/{1..300}
writer () {
    local n=0
    exec 6>>"$MNT/log"
    until [ -e "$TEST_DIR/stop" ]; do
        n=$((n + 1))
        echo "$n" >&6 || echo "a write fails"
    done
    echo "$n" >"$TEST_DIR/written"
}
lister () {
    until [ -e "$TEST_DIR/stop" ]; do
        [ "$(find "$MNT/many" -type f | wc -l)" = 300 ] || echo "a listing is not whole"
    done
}
writer >>"$TEST_DIR/trouble" 2>&1 &
programs=$!
lister >>"$TEST_DIR/trouble" 2>&1 &
programs="$programs $!"

# A translator goes, comes back, and others come.
expect_match "the graph" home-write-behind "$(volumes)"
moved performance.write-behind off
expect_no_match "the graph" home-write-behind "$(volumes)"
brick_kill glusterd
touch "$MNT/while-there-is-no-glusterd" || fail "no file can be made while there is no glusterd"
glusterd_start
moved performance.write-behind on
expect_match "the graph" home-write-behind "$(volumes)"
moved performance.io-cache on
expect_match "the graph" home-io-cache "$(volumes)"

# A lock is not given up, and a removed file can be read; a file whose locks were dropped moves. The
# mount moves on meanwhile.
touch "$MNT"/{locked,record}
echo text >"$MNT/removed"
exec 5>"$MNT/unlocked" 6>"$MNT/record" 7>"$MNT/locked" 8<"$MNT/removed"
flock -n 7 || fail "no lock"
rm "$MNT/removed"
expect_error '' flock -n other/locked true
flock 5 && flock -u 5 || fail "no lock"
python3 -c 'import fcntl; fcntl.lockf (5, fcntl.LOCK_EX); fcntl.lockf (5, fcntl.LOCK_UN)'
coproc record { python3 -c 'import fcntl, sys
fcntl.lockf (6, fcntl.LOCK_EX)
print ("held", flush=True)
sys.stdin.read (1)' 7>&- 8>&-; }
read -r -u "${record[0]}" _ || fail "no record lock"
moved performance.io-cache off
expect_match "the log" "3 files stay with the old graph until they are closed" "$(cat "$LOG")"
expect_error '' flock -n other/locked true
expect_error '' flock -n other/record true
echo >&"${record[1]}"
wait "$record_PID"
exec 5>&- 6>&-
expect "a removed file" text "$(cat <&8)"
moved performance.io-cache on
expect_error '' flock -n other/locked true
exec 7>&- 8<&-
wait_until "flock -n other/locked true" # the kernel doesn't wait for the end of a file it closes

touch "$TEST_DIR/stop"
# shellcheck disable=SC2086 # two
wait $programs
[ ! -s "$TEST_DIR/trouble" ] || fail "$(sort "$TEST_DIR/trouble" | uniq -c)"
expect "what was written" "$(seq "$(cat "$TEST_DIR/written")" | md5sum)" "$(md5sum <"$MNT/log")"
umount other
unmount
