#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick that dies: operations fail at once, and work as before when it is back. Open files and
# directories stay open, and record locks are held again, or with strict-locks given up.
. "$(dirname "$0")/lib.sh"

brick one
brick_volfile one
mount_volfile "$VOL"
cat >lost.py <<'EOF'
import errno, fcntl, os, sys

def say(text):
    print(text, flush=True)

def turn():
    sys.stdin.readline()

def attempt(work):
    try:
        return work()
    except OSError as error:
        return errno.errorcode[error.errno]

os.chdir(sys.argv[1])
file = os.open("file", os.O_RDWR | os.O_CREAT)
locked = os.open("locked", os.O_RDWR | os.O_CREAT)
removed = os.open("removed", os.O_RDWR | os.O_CREAT)
folder = os.open(".", os.O_RDONLY)
os.write(file, b"before ")
fcntl.lockf(locked, fcntl.LOCK_EX, 10, 100)
fcntl.lockf(locked, fcntl.LOCK_EX, 10, 300)
os.unlink("removed")
say("ready")
turn()
say(attempt(lambda: os.stat("nothing")))
say(attempt(lambda: os.write(file, b"lost")))
say(attempt(lambda: fcntl.lockf(locked, fcntl.LOCK_UN, 10, 300)))
turn()
say(attempt(lambda: os.pwrite(file, b"after", 7)))
say(attempt(lambda: os.fsync(file)))
say(attempt(lambda: os.pread(file, 100, 0)))
say(attempt(lambda: sorted(os.listdir(folder))))
say(attempt(lambda: os.write(removed, b"x")))
say(attempt(lambda: os.write(locked, b"x")))
turn()
EOF

# other_lock BYTE: what another process gets for it
other_lock () {
    python3 - "$MNT/locked" "$1" <<'EOF'
import fcntl, sys
try:
    with open(sys.argv[1], "r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(sys.argv[2]))
    print("free")
except OSError as error:
    print(error.strerror)
EOF
}

# holds LINE...: the program's next lines
holds () {
    local line expected
    for expected in "$@"; do
        read -r -t 20 line <&"${PROGRAM[0]}" || fail "no answer where '$expected' was expected"
        expect "what the program sees" "$expected" "$line"
    done
}

# round WRITE-TO-LOCKED LOCK
round () {
    coproc PROGRAM { python3 lost.py "$MNT"; }
    holds ready
    brick_kill one
    wait_until "grep -q 'lost the connection' '$LOG'"
    echo >&"${PROGRAM[1]}"
    holds ENOTCONN ENOTCONN ENOTCONN
    brick_start one
    wait_until "stat '$MNT/file' >/dev/null 2>&1"
    echo >&"${PROGRAM[1]}"
    holds 5 None "b'before after'" "['file', 'locked']" ESTALE "$1"
    expect "the lock for others" "$2" "$(other_lock 105)"
    expect "the lock given up meanwhile" free "$(other_lock 305)"
    echo >&"${PROGRAM[1]}"
    wait "$PROGRAM_PID"
    rm "$MNT"/file "$MNT"/locked
}

round 1 "Resource temporarily unavailable"
unmount
: >"$LOG"
brick_volfile one strict-locks=on
mount_volfile "$VOL"
round EBADFD free
unmount

# A server that is gone without a word holds up neither the reports nor the end of the mount.
: >"$LOG"
mount_volfile "$VOL"
brick_freeze one
stat "$MNT/asked" >asked 2>&1 &
asker=$!
wait_until "'$WINDLASS' inflight '$MNT' |
    grep -q 'waits for: brick 127.0.0.1:one, [0-9]* s, last heard [0-9]* s ago'"
kill "$DAEMON"
wait_until "! is_running $DAEMON"
wait "$asker"
expect_match "what the caller got" 'not connected' "$(cat asked)"
expect_no_match "the log" unanswered "$(cat "$LOG")"
DAEMON=''
