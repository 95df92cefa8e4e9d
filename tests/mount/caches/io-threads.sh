#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# performance/io-threads from a user's view: slow storage holds up no other request, a caller that
# is killed while it waits is gone at once, a timer's tick makes nothing fail, ionice puts a process
# last, options change meanwhile, and the end of the mount loses nothing.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"

slow=debug/delay-gen,delay-percentage=100%,block=on,enable=readv
iot=performance/io-threads
TOP=io-threads-2

number () { # KEY: of what the translator at the top tells of itself
    sed -n "s/^$1 = //p" "$MNT/.meta/graphs/active/$TOP/private"
}

sizes () {
    getfattr --absolute-names --only-values -n trusted.glusterfs.io-thread-queue-size "$MNT"
}

need_root
need_command getfattr ionice python3
for i in {1..40}; do head -c 4096 /dev/urandom >"$BACK/file$i"; done

# Bad options are refused with their line.
while IFS='|' read -r option said; do
    stack "performance/io-threads,$option"
    expect_error "test.vol:7:[0-9]+: .*$said" "$WINDLASS" check "$VOL"
done <<'OPTIONS'
thread-count=0|'thread-count'.* 1 to 64
thread-count=65|'thread-count'.* 1 to 64
least-prio-threads=many|'least-prio-threads'
watchdog-secs=-1|'watchdog-secs'
enable-least-priority=perhaps|'enable-least-priority'
tread-count=3|did you mean 'thread-count'
OPTIONS

# Forty requests wait for a disk, with one thread that reads requests: ls waits for none of them,
# and they wait together.
stack "$slow,delay-duration=500000" "$iot"
mount_volfile "$VOL" --reader-thread-count 1 --xlator-option io-threads-2.thread-count=40 \
    --xlator-option io-threads-2.low-prio-threads=40
begin=$SECONDS
for i in {1..40}; do cmp "$MNT/file$i" "$BACK/file$i" & done
ls -l "$MNT" >/dev/null
wait
[ $((SECONDS - begin)) -lt 18 ] || fail "forty reads of half a second took $((SECONDS - begin)) s"
unmount

# One at a time, which takes an hour: those that wait say so, and go when they are killed.
stack "$slow,delay-duration=3600000000" "$iot,low-prio-threads=1"
mount_volfile "$VOL" --direct-io-mode=on # else the kernel reads ahead, and tells of no interrupt
cat "$MNT/file1" >/dev/null 2>&1 &
first=$!
wait_until '"$WINDLASS" inflight "$MNT" | grep -q delay-gen-1'
cat "$MNT/file2" >/dev/null 2>&1 &
second=$!
wait_until '"$WINDLASS" inflight "$MNT" | grep -q "waits for: one of 1 operations of low priority (low-prio-threads), 0 before it"'
expect "the queues" "HIGH=0 NORMAL=0 LOW=1 LEAST=0" "$(sizes)"
expect_match "explained" "1 on its bytes \(low-prio-threads\)" "$("$WINDLASS" explain "$MNT/file1")"
# A timer ticks meanwhile, without effect. SIGTERM, which is not handled, ends the other process at
# once.
python3 -c '
import ctypes, os, signal, sys
ticks = []
def tick (*unused):
    ticks.append (1)
signal.signal (signal.SIGALRM, tick)
signal.siginterrupt (signal.SIGALRM, False)
signal.setitimer (signal.ITIMER_REAL, 0.05, 0.05)
libc = ctypes.CDLL (None, use_errno=True)
fd = os.open (sys.argv[1], os.O_RDONLY)
buffer = ctypes.create_string_buffer (100)
n = libc.read (fd, buffer, 100)
signal.setitimer (signal.ITIMER_REAL, 0)
sys.exit (0 if n == 100 else 1)' "$MNT/file3" &
ticking=$!
wait_until '[ "$(sizes)" = "HIGH=0 NORMAL=0 LOW=2 LEAST=0" ]'
kill $second
wait_until "! is_running $second"
is_running $ticking || fail "a timer's tick made a read fail"
expect "the queues" "HIGH=0 NORMAL=0 LOW=1 LEAST=0" "$(sizes)"
expect cancelled 1 "$(number low_priority_cancelled)"

# The volfile changes while they wait.
stack "$slow,delay-duration=3600000000" "$iot,low-prio-threads=2,thread-count=3"
"$WINDLASS" reload "$MNT" >answer || fail "a reload fails: $(cat answer)"
wait_until '[ "$(sizes)" = "HIGH=0 NORMAL=0 LOW=0 LEAST=0" ]'
expect "the new number of threads" 3 "$(number maximum_threads_count)"

# The end of the mount: what blocks is let go, all is answered.
kill "$DAEMON"
wait_until "! is_running $DAEMON"
DAEMON=''
wait $ticking || fail "a read that waited failed at the end"
wait $first
expect_no_match "nothing was left unanswered" 'unanswered' "$(cat "$LOG")"

# ionice: the process is last, and at a rate.
stack "$iot,least-rate-limit=20"
TOP=io-threads-1
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
begin=$(date +%s%N)
ionice -c idle stat "$MNT"/file{1..20} >/dev/null
slowly=$(($(date +%s%N) - begin))
[ $slowly -gt 600000000 ] ||
    fail "twenty files at twenty requests a second took $((slowly / 1000000)) ms"
least=$(number least_priority_waited)
[ "$least" -ge 20 ] || fail "$least requests had the least priority"
begin=$(date +%s%N)
stat "$MNT"/file{1..20} >/dev/null
[ $(($(date +%s%N) - begin)) -lt $slowly ] || fail "others are as slow as who is last"
expect "others don't count" "$least" "$(number least_priority_waited)"
unmount

# A tree comes out as it went in, through threads, and errors come back as they are.
stack debug/error-gen,failure=0,enable=readv,error-no=EIO "$iot"
mount_volfile "$VOL"
tar cf tree.tar -C "$SOURCE_DIR/src" core graph
mkdir "$MNT/tree"
tar xf tree.tar -C "$MNT/tree"
diff -r "$MNT/tree/core" "$SOURCE_DIR/src/core" || fail "the tree differs"
stack debug/error-gen,failure=100,enable=readv,error-no=EIO "$iot"
"$WINDLASS" reload "$MNT" >answer || fail "a reload fails: $(cat answer)"
expect_error 'Input/output error' cat "$MNT/file7"
unmount
