#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Reports name the brick: what a request waits for, which errors are the brick's and which are ours,
# the brick's numbers in top, stats, .meta and a state dump.
. "$(dirname "$0")/lib.sh"
need_command setfattr

brick one
brick_volfile one filter-O_DIRECT=on
printf 'volume locker\n    type test/locker\n    subvolumes one\nend-volume\n' >>"$VOL"
mount_volfile "$VOL"
mkdir other
"$WINDLASS" -f "$VOL" -l other.log --io-uring=off other || fail "the other mount failed"
echo text >"$MNT/file"
mkdir "$MNT/directory"

inflight () {
    "$WINDLASS" inflight "$MNT"
}

# --- numbers --------------------------------------------------------------------------------------

private () {
    cat "$MNT/.meta/graphs/active/one/private"
}
expect_match "the state" 'brick = 127.0.0.1:one' "$(private)"
expect_match "the state" 'state = up' "$(private)"
expect_match "the calls" 'calls = [1-9]' "$(private)"
expect_match "the bytes" 'bytes_received = [1-9]' "$(private)"
expect_match "the round trip" 'round_trip_p99_us = [1-9]' "$(private)"

"$WINDLASS" stats --json "$MNT" >json 2>/dev/null
python3 - <<'EOF' || fail "the JSON"
import json
rows = json.load(open("json"))["translators"]
server = next(row["server"] for row in rows if "server" in row)
assert server["name"] == "127.0.0.1:one" and server["state"] == "up", server
assert server["calls"] > 5 and min(server["sent_bytes"], server["received_bytes"]) > 100, server
trips = server["round_trips"]
assert 0 < trips["min"] <= trips["p50"] <= trips["p99"] <= trips["max"] and trips["count"] > 5, trips
EOF
"$WINDLASS" stats "$MNT" >metrics 2>/dev/null
expect_match "the metrics" '^windlass_server_up\{translator="one",server="127.0.0.1:one"\} 1$' \
    "$(cat metrics)"
expect_match "the metrics" '^windlass_server_round_trip_seconds_count\{.*\} [1-9]' "$(cat metrics)"
python3 "$SOURCE_DIR/tests/mount/live/openmetrics.py" <metrics >/dev/null ||
    fail "the metrics are not OpenMetrics"

# --- top ------------------------------------------------------------------------------------------

# top_brick: the brick's row, while the mount is used
top_brick () {
    "$WINDLASS" top "$MNT" --batch --by brick --count 1 --interval 0.5 >top &
    while kill -0 $! 2>/dev/null; do
        cat "$MNT/file"
        sleep 0.02
    done >/dev/null 2>&1
    wait $!
    grep '^127.0.0.1:one ' top
}
expect_match "top" '^127.0.0.1:one +up +[1-9][0-9]*\.[0-9] +[0-9.]+k +[0-9.]+k +[0-9.]+[mu]s ' \
    "$(top_brick)"
expect_match "all tables" '^brick +state +calls/s' \
    "$("$WINDLASS" top "$MNT" --batch --count 1 --interval 0.1)"

# --- errors ---------------------------------------------------------------------------------------

errors () {
    "$WINDLASS" errors "$MNT"
}
(cd "$MNT/directory" && rmdir "$TEST_DIR/one.d/directory" && ! mkdir new 2>/dev/null) ||
    fail "a directory that is gone took a new one"
expect_match "the brick's error" 'reason: +127.0.0.1:one answered E[A-Z]+ to [A-Z]+$' \
    "$(errors)"
expect_match "the same as JSON" '"reason": "127.0.0.1:one answered E' \
    "$("$WINDLASS" errors --json "$MNT")"
expect_match "explain" "is on brick 127.0.0.1:one \(remote-host" "$("$WINDLASS" explain "$MNT/file")"

# --- waiting --------------------------------------------------------------------------------------

setfattr -n user.inodelk -v data other/file
setfattr -n user.inodelk -v data "$MNT/file" &
locker=$!
wait_until "inflight | grep -Eq 'waits for: a lock of brick 127.0.0.1:one, [0-9]+ s, last heard'"
kill $locker
wait $locker 2>/dev/null
# A read waits for a write to the same bytes. Neither is in the kernel's cache, which would make one
# wait for the other itself.
cat >both.py <<'EOF'
import mmap, os, sys, threading
files = [os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT) for _ in range(2)]
print("ready", flush=True)
sys.stdin.readline()
def attempt(call, file):
    try:
        call(file, [mmap.mmap(-1, 4096)], 0)
    except OSError:
        pass
for pair in zip((os.pwritev, os.preadv), files):
    threading.Thread(target=attempt, args=pair).start()
EOF
coproc BOTH { exec python3 both.py "$MNT/file"; }
read -r _ <&"${BOTH[0]}"
brick_freeze one
stat "$MNT/asked" >/dev/null 2>&1 &
echo >&"${BOTH[1]}"
held='an earlier operation on the same bytes, which waits for brick 127.0.0.1:one, [0-9]* s'
wait_until "inflight | grep -q 'waits for: $held'"
wait_until "inflight | grep -Eq 'waits for: brick 127.0.0.1:one, [1-9] s, last heard [1-9] s ago$'"
"$WINDLASS" top "$MNT" --batch --by brick --count 1 --interval 0.1 >top
expect_match "calls without an answer" '^127.0.0.1:one +up .* [1-9]$' "$(cat top)"
brick_kill one
wait_until "'$WINDLASS' top '$MNT' --batch --by brick --count 1 --interval 0.1 |
    grep -Eq '^127.0.0.1:one +down since [0-9:]{8} '"
expect_error 'not connected' stat "$MNT/other"
expect_match "a lost answer" \
    'reason: +the connection to 127.0.0.1:one ended before it answered WRITE, which it may' \
    "$(errors)"
expect_match "no connection" 'reason: +there was no connection to 127.0.0.1:one' "$(errors)"
brick_start one
wait_until "stat '$MNT/file' >/dev/null 2>&1"
kill -USR1 "$DAEMON"
wait_until "grep -q 'state dumped to' '$LOG'"
dump=$(sed -n "s/.*state dumped to '\(.*\)'.*/\1/p" "$LOG")
expect_match "the dump" '^brick=127.0.0.1:one$' "$(cat "$dump")"
umount other
unmount
