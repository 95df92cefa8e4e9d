#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Callers that wait in the kernel for the lock of a directory whose storage hangs. Once they are
# killed they end one after the other, without waiting for storage; with --exclusive as soon as the
# change that is under way is made.
# through: io_uring device
. "$(dirname "$0")/../lib.sh"
need_command python3

# line.py DIRECTORY N: N processes make a directory each, and have a handler for SIGUSR1. Prints
# their numbers.
cat >line.py <<'END'
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: None)
def caller(i):
    pid = os.fork()
    if pid:
        return pid
    try:
        os.mkdir(f"{sys.argv[1]}/new{i}")
    finally:
        os._exit(0)
print(*[caller(i) for i in range(int(sys.argv[2]))], flush=True)
os.close(1)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
END

# line_up N WAIT: N callers of $MNT/d, in $LINE, of which WAIT wait for its lock.
line_up () {
    rm -f pids
    mkfifo pids
    python3 line.py "$MNT/d" "$1" >pids &
    read -ra LINE <pids
    wait_until '[ "$(states D)" = '"$2"' ]'
}

# How many of the line are in that state: D waits for a lock.
states () {
    (cd /proc && cat "${LINE[@]/%//status}" 2>/dev/null) | grep -c "^State:[[:space:]]*[$1]"
}

# kill_line: they are killed, and how long they stay is measured.
kill_line () {
    kill -KILL "${LINE[@]}"
    ended
}

ended () {
    local begin=${EPOCHREALTIME/./}
    wait_until '[ "$(states A-Y)" = 0 ]'
    echo "${#LINE[@]} callers were gone after $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
}

set_fault () {
    expect_ok "$WINDLASS" fault "$MNT" - <<<"$1"
}

below () { # OPERATION: requests that hang in it
    "$WINDLASS" inflight "$MNT" | grep -c "^request.* $1"
}

# hold_lock: a caller that lives on has the lock until let_go. So those that wait for it send their
# requests when they have been killed, and no signal of theirs is reported through io_uring.
hold_lock () {
    set_fault "symlink -> hang name first${1:+
$1}"
    ln -s target "$MNT/d/link" &
    holder=$!
    wait_until '[ "$(below symlink)" = 1 ]'
}

let_go () {
    expect_ok "$WINDLASS" fault "$MNT" --release first
    wait $holder || fail "who lives on fails"
    rm "$BACK/d/link"
}

# end_mount: whatever hangs below.
end_mount () {
    kill "$DAEMON"
    wait_until "! is_running $DAEMON"
    DAEMON=''
    wait
    rm -rf "$BACK"/d/*
}

mkdir "$BACK/d"
# Storage that blocks its thread, whoever is interrupted.
stack debug/delay-gen,delay-percentage=100%,block=on,enable=mkdir,delay-duration=3600000000 \
    debug/fault

# The caller that has the lock is among those that are killed.
mount_volfile "$VOL"
ls "$MNT/d"
line_up 500 499
kill_line
made=$("$WINDLASS" inflight "$MNT" | grep -c '^request.* mkdir')
[ "$made" -lt 50 ] || fail "$made of 500 killed callers asked storage"
end_mount

# All are killed before they send their requests.
mount_volfile "$VOL"
ls "$MNT/d"
hold_lock
line_up 4 4
kill -KILL "${LINE[@]}"
let_go
ended
end_mount

# Interrupted before they send their requests: that is reported.
stack debug/fault
mount_volfile "$VOL"
ls "$MNT/d"
hold_lock 'mkdir -> hang'
line_up 2 2
kill -USR1 "${LINE[@]}"
let_go
ended
end_mount

# With --exclusive the change that is under way is waited for, and no other is begun.
mount_volfile "$VOL" --exclusive
ls "$MNT/d"
set_fault 'mkdir -> hang name first'
line_up 20 19
wait_until '[ "$(below mkdir)" = 1 ]'
kill -KILL "${LINE[@]}"
expect_ok "$WINDLASS" fault "$MNT" --release first
ended
made=$(find "$BACK/d" -name 'new*' | wc -l)
[ "$made" -lt 10 ] || fail "with exclusive, $made killed callers made their directory"
end_mount
