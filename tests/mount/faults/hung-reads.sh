#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Reads that hang in storage: their callers can be killed; as many as the limit allows, and more, do
# not keep other callers from the mount; windlass inflight says what each waits for; and the mount
# can be ended while they wait.
# builds: release tsan debug
# longer
. "$(dirname "$0")/../lib.sh"

number () { # KEY: of what the bridge tells of itself
    sed -n "s/^$1 = //p" "$MNT/.meta/master/private"
}

delayed () {
    sed -n "s/^delayed = //p" "$MNT/.meta/graphs/active/delay-gen-1/private"
}

mount_hanging () { # OPTIONS
    stack debug/delay-gen,delay-percentage=100%,block=on,enable=readv,delay-duration=3600000000
    mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0 --direct-io-mode=on "$@"
}

end_mount () {
    kill "$DAEMON"
    wait_until "! is_running $DAEMON"
    DAEMON=''
    expect_no_match "nothing was left unanswered" 'unanswered' "$(cat "$LOG")"
}

need_command python3
for i in {1..59}; do head -c 4096 /dev/urandom >"$BACK/file$i"; done

# --- 59 killed readers are gone, while their reads hang on ---

mount_hanging
readers=()
for i in {1..59}; do
    cat "$MNT/file$i" >/dev/null &
    readers+=($!)
done
wait_until '[ "$(delayed)" = 59 ]'
begin=$(date +%s%N)
kill -KILL "${readers[@]}"
wait "${readers[@]}" 2>/dev/null
took=$((($(date +%s%N) - begin) / 1000000))
[ $took -lt 5000 ] || fail "59 killed readers were there for $took ms"
echo "59 killed readers were gone after $took ms"
expect "reads hang on" 59 "$(number data_old)"
echo new >"$MNT/new" || fail "a file can't be made"
# The kernel has closed the files, and forgets them, while the reads go on with them.
[ ! -w /proc/sys/vm/drop_caches ] || echo 2 >/proc/sys/vm/drop_caches
expect_match "a request whose caller is gone" 'readv' "$("$WINDLASS" inflight "$MNT")"
end_mount

# --- as many as the limit allows, and more; interrupts and kills of those that wait ---

# One process, one read for each thread: python3 FILE N READY.
cat >readers.py <<'PYTHON'
import os, sys, threading
def read ():
    try:
        os.pread (os.open (sys.argv[1], os.O_RDONLY), 4096, 0)
    except OSError:
        pass
threads = [threading.Thread (target=read, daemon=True) for i in range (int (sys.argv[2]))]
for thread in threads:
    thread.start ()
for thread in threads:
    thread.join ()
PYTHON
many=$(amount 560 1000)
mount_hanging --data-limit=8
python3 readers.py "$MNT/file1" "$many" &
wait_until 60 \
    '[ "$(number data_old)" -ge 512 ] && [ "$(number data_waiting)" = '$((many - 512 - 8))' ]'
expect_match "what they wait for" \
    '^'$((many - 520))' wait for one of 8 data operations \(data-limit\); 520 have been at it for long' \
    "$("$WINDLASS" inflight "$MNT" | tail -n 1)"
expect_match "counted" "^waiting=$((many - 520))\$" "$("$WINDLASS" counts "$MNT")"
cat "$MNT/file2" >/dev/null &
other=$!
stat "$MNT/file3" >/dev/null || fail "stat fails"
echo new >"$MNT/new2" & # its write waits as well
writer=$!
ls -l "$MNT" >/dev/null || fail "ls fails"
expect_match "what dump says" '^8$' "$(number data_limit)"
expect_match "explained" \
    '^    data operations: now [0-9]+ run, and [0-9]+ older ones; [1-9]' \
    "$("$WINDLASS" explain "$MNT/file1")"
kill $other
wait_until "! is_running $other"
kill -KILL %python3
wait %python3 2>/dev/null
wait_until '[ "$(number data_waiting)" = 1 ]' # the writer
expect_error "'data-limit=65' can't be understood.*0 .*to 64.*nothing was changed" "$WINDLASS" \
    tell "$MNT" - limits - <<<"data-limit=65"
expect_match "unchanged" '^8$' "$(number data_limit)"
expect_match "changed" '^at a time run 16 data operations' \
    "$("$WINDLASS" tell "$MNT" - limits - <<<"data-limit=16")"
expect_match "changed" '^16$' "$(number data_limit)"
wait $writer || fail "what waited and may run now fails"
wait_until '[ "$(number data_waiting)" = 0 ]'
expect "what was written" new "$(cat "$BACK/new2")"
stat "$MNT/file3" >/dev/null || fail "stat fails"
end_mount

# --- the mount ends while they wait ---

mount_hanging
python3 readers.py "$MNT/file1" "$many" &
wait_until '[ "$(number data_waiting)" -gt 0 ]'
end_mount
wait

# --- it was unmounted, and one hangs on ---

for how in '' -f; do
    mount_hanging
    cat "$MNT/file1" >/dev/null 2>&1 &
    wait_until '[ "$(delayed)" = 1 ]'
    kill -KILL $!
    wait $! 2>/dev/null
    umount $how "$MNT" || fail "it can't be unmounted ($how)"
    wait_until "! is_running $DAEMON"
    expect_match "why it ends" 'was unmounted, shutting down' "$(cat "$LOG")"
    expect_no_match "nothing was left unanswered" 'unanswered' "$(cat "$LOG")"
    DAEMON=''
done
