#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's daemon that may start no further thread (RLIMIT_NPROC): attributes and names are
# answered, reads wait until a thread can start, their callers can be killed, the log names the
# limit once, and all goes on when there is room again.
# builds: release debug
. "$(dirname "$0")/../lib.sh"
need_root
id games >/dev/null 2>&1 || skip "needs the user games"
need_command setpriv fusermount3 prlimit
need_mtab

number () { # KEY: of what the bridge tells of itself; as the mount's owner
    as_games sed -n "s/^$1 = //p" "$MNT/.meta/master/private"
}

is_mounted () { # also without its daemon
    grep -q " $MNT " /proc/self/mounts
}

as_games () {
    setpriv --reuid games --regid games --clear-groups env HOME="$TEST_DIR" "$@"
}

hang () { # FILE: a reader of the mount's owner
    as_games cat "$MNT/$1" >/dev/null 2>&1 &
    readers+=($!)
}

chmod 755 "$TEST_DIR"
chown games:games "$BACK" "$MNT"
for i in {1..40}; do as_games sh -c 'echo text >"$0"' "$BACK/file$i"; done
stack debug/delay-gen,delay-percentage=100%,block=on,enable=readv,delay-duration=3600000000
: >"$LOG" && chmod 666 "$LOG"
as_games "$WINDLASS" -f "$VOL" -l "$LOG" -p "$BACK/pid" --attribute-timeout=0 --entry-timeout=0 \
    --direct-io-mode=on "$MNT" 2>err || fail "no mount: $(cat err)"
DAEMON=$(cat "$BACK/pid")
readers=()
hang file1
wait_until '[ "$(number data_old)" = 1 ]'
as_games prlimit --pid "$DAEMON" --nproc=1: # the soft limit
for i in {2..30}; do hang "file$i"; done
wait_until '[ "$(number data_waiting)" -gt 0 ]'
for i in {31..35}; do
    as_games stat "$MNT/file$i" >/dev/null || fail "stat fails"
    as_games touch "$MNT/new$i" || fail "a file can't be made"
done
expect "the log says it once of the threads that take requests" 1 \
    "$(grep -c "can't start a thread .*for requests: .*RLIMIT_NPROC" "$LOG")"
expect "and once of those that run them" 1 \
    "$(grep -c "can't start a thread for operations .*RLIMIT_NPROC" "$LOG")"

# A reader can be killed, be it that it waits for a thread or hangs.
kill "${readers[-1]}"
wait_until "! is_running ${readers[-1]}"

expect_error "can't start the thread that records: .*RLIMIT_NPROC" as_games "$WINDLASS" timeline \
    start "$MNT"

# Room again: all reads begin.
as_games prlimit --pid "$DAEMON" --nproc=1000:
wait_until '[ "$(number data_waiting)" = 0 ] && [ "$(number data_old)" -ge 29 ]'
kill -KILL "${readers[@]}" 2>/dev/null
wait 2>/dev/null
kill "$DAEMON"
wait_until "! is_running $DAEMON"
DAEMON=''

# On quick storage no request waits for a thread: where no operation runs whose end would start the
# next, the next starts anyway.
stack
: >"$LOG"
as_games "$WINDLASS" -f "$VOL" -l "$LOG" -p "$BACK/pid" "$MNT" 2>err || fail "no mount: $(cat err)"
DAEMON=$(cat "$BACK/pid")
as_games prlimit --pid "$DAEMON" --nproc=1:
cat >"$TEST_DIR/write.py" <<'PY'
import os, sys, threading, time
def work(name):
    for _ in range(amount):
        with open(name, "wb") as file:
            file.write(bytes(5000))
        with open(name, "rb") as file:
            assert len(file.read()) == 5000
        os.unlink(name)
        done.append(name)
done, amount = [], 50
threads = [threading.Thread(target=work, args=(f"{sys.argv[1]}/by{i}",), daemon=True)
           for i in range(20)]
for thread in threads:
    thread.start()
until = time.monotonic() + 60
for thread in threads:
    thread.join(max(0, until - time.monotonic()))
print(len(done), flush=True)
os._exit(0)  # also where some hang
PY
expect "rounds of 20 writers" 1000 "$(as_games /usr/bin/python3 "$TEST_DIR/write.py" "$MNT")"
kill "$DAEMON"
wait_until "! is_running $DAEMON"
DAEMON=''

# A volume of a server, whose thread for the network can't start.
cat >client.vol <<VOLUME
volume client
    type protocol/client
    option remote-subvolume /nonexist
    option transport.socket.connect-path /nonexist
    option transport-type unix
end-volume
VOLUME
: >err
# The user's other threads count as well: those of the daemon before end after its process is said
# to be gone. In the foreground none of the attempt before is left.
wait_until '! ps -eLo user= | grep -qx games'
# Again, in case another test has used this user meanwhile.
reason="'client' .* could not be started: .*RLIMIT_NPROC"
for most in {2..40} {2..40}; do
    ! grep -q "$reason" err || break
    as_games bash -c "ulimit -u $most; exec \"\$@\"" - "$WINDLASS" -N -f client.vol -l "$LOG" \
        "$MNT" 2>err && fail "it is mounted without a server"
done
grep -q "$reason" err || fail "no limit names the cause: $(cat err)"

# However few there may be from the beginning: a mount that works, or none, and the reason.
for most in 1 2 3 4 5 6 7 8; do
    if as_games bash -c "ulimit -u $most; exec \"\$@\"" - "$WINDLASS" -f "$VOL" -l "$LOG" \
        -p "$BACK/pid" "$MNT" 2>err; then
        as_games stat "$MNT/file1" >/dev/null || fail "ulimit -u $most: the mount doesn't work"
        kill "$(cat "$BACK/pid")"
        wait_until '! is_mounted'
        wait_until '! [ -e "$BACK/pid" ]'
    else
        expect_match "ulimit -u $most: why there is no mount" 'RLIMIT_NPROC|fusermount3' \
            "$(cat err)"
        ! is_mounted || fail "ulimit -u $most: a mount without its daemon is left"
    fi
done
