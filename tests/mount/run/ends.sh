#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The end of a view: by signals, by the death of windlass run or of its daemon; and for processes
# that outlive the command, which find no bare directory. What was written is in the directory.
. "$(dirname "$0")/../lib.sh"
need_fuse
let_users_mount
need_user_namespaces
need_command script pgrep
chmod 755 "$TEST_DIR"
mkdir -m 777 home dir
mkfifo -m 666 go
export HOME=$TEST_DIR/home XDG_RUNTIME_DIR=
DIR=$TEST_DIR/dir

# Waits to be stopped and continued, and then for a line. SIGCONT is blocked, so that none is missed.
cat >stopped.py <<'END'
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCONT])
print("begun", flush=True)
signal.sigwait([signal.SIGCONT])
print("continued", flush=True)
line = sys.stdin.readline()
with open(sys.argv[1], "w") as file:
    file.write(line)
print("continued twice" if signal.SIGCONT in signal.sigpending() else "got " + line, flush=True)
sys.exit(4)
END

# as WHO: sets $as, the words before a command of WHO.
as () {
    as=()
    [ "$1" = root ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$HOME")
}

# begin SCRIPT: starts windlass run with a shell script in the background, and waits until it has
# made the file `begun`. $run is the process, $daemon its daemon.
begin () {
    rm -rf "$DIR"/*
    "${as[@]}" "$WINDLASS" run rot-13 "$DIR" -- bash -c "$1" >out 2>&1 &
    wait_until "[ -e '$DIR/begun' ]"
    run=$!
    daemon=$(pgrep -P $run -f -- --captive=)
}

# Every process of a view ends.
gone () {
    wait_until "! is_running $daemon && ! is_running $run"
}

for who in root user; do
    echo "as $who"
    as $who

    # A signal for windlass run is one for the command.
    for signal in TERM HUP USR1; do
        begin "trap 'echo got $signal; exit 7' $signal; touch '$DIR/begun'
            while :; do sleep 0.1; done"
        kill -$signal $run
        wait $run
        expect "the status after SIG$signal" 7 $?
        expect "what it says" "got $signal" "$(cat out)"
        gone
    done

    # Killed: the daemon ends as well, and has written everything. The command finds a view that
    # fails, not the directory.
    begin "echo hello >'$DIR/file'; touch '$DIR/begun'
        while [ -e '$DIR/begun' ]; do sleep 0.1; done
        echo bare >'$DIR/bare'; ls '$DIR' && echo listed"
    kill -9 $run
    gone
    expect "what was written" uryyb "$(cat "$DIR/file")"
    wait_until "grep -q '^ls: ' out"
    expect_match "what the command finds" "$DAEMON_GONE" "$(cat out)"
    expect_no_match "it sees no directory" listed "$(cat out)"
    [ ! -e "$DIR/bare" ] || fail "it wrote into the bare directory"

    # The daemon is killed: that is told, with the log; the status is still the command's.
    begin "touch '$DIR/begun'; read -r <'$TEST_DIR/go'; ls '$DIR'; exit 3"
    kill -9 "$daemon"
    wait_until "grep -q 'the daemon of the view has ended' out"
    expect_match "the log" "its log is '.*dir.log'" "$(cat out)"
    echo >go
    wait $run
    expect "the status" 3 $?
    expect_match "what the command finds" "$DAEMON_GONE" "$(cat out)"

    # A process that outlives the command is named; the view ends for it.
    begin "(exec 3>>'$DIR/kept'; echo kept >&3; touch '$DIR/begun'
        while [ ! -e '$TEST_DIR/stop' ]; do sleep 0.1; done
        cat '$DIR/kept'; echo after >'$DIR/after') &
        read -r <'$TEST_DIR/go'; exit 5"
    echo >go
    wait $run
    expect "the status" 5 $?
    expect_match "who is named" "still running: process(es)? .*[0-9]+ \(bash\).*; the view ends" "$(cat out)"
    ! is_running "$daemon" || fail "the daemon is still there"
    expect "what it wrote" xrcg "$(cat "$DIR/kept")"
    touch stop
    wait_until "grep -q 'kept' out"
    expect_match "what it finds" "$DAEMON_GONE" "$(cat out)"
    [ ! -e "$DIR/after" ] || fail "it wrote into the bare directory"
    rm -f stop

    # Ctrl-C at a terminal ends the command alone, by its own choice.
    rm -rf "$DIR"/*
    expect_match "Ctrl-C" 'caught it' "$( (wait_until "[ -e '$DIR/begun' ]"; printf '\003') |
        "${as[@]}" script -qec "$WINDLASS run plain $DIR -- bash -c \"trap 'echo caught it; exit 9' INT
            touch $DIR/begun; while :; do sleep 0.1; done\"" /dev/null)"

    # Ctrl-Z stops the command and windlass run as one job of the shell, and fg continues it.
    expect "what Ctrl-Z stops" "$(printf 'daemon: runs\npython3: stopped\nwindlass: stopped')" "$(
        "${as[@]}" "$SOURCE_DIR/tests/mount/run/job-control.py" "$WINDLASS" run rot-13 "$DIR" \
            -- python3 "$TEST_DIR/stopped.py" "$DIR/file" 2>&1)"
    expect "what was written then" uryyb "$(cat "$DIR/file")"
done

# A daemon that hangs while it starts ends with windlass run.
mkdir "$DIR/root"
printf '# preset: stuck\nvolume posix\ntype storage/posix\noption directory @DIR@\nend-volume\nvolume slow
type test/slow\nsubvolumes posix\nend-volume\n' >stuck.vol
"$WINDLASS" run "$PWD/stuck.vol" "$DIR/root" -- true >out 2>&1 &
run=$!
wait_until "pgrep -P $run -f -- --captive= >/dev/null"
daemon=$(pgrep -P $run -f -- --captive=)
kill -9 $run
gone
expect_ok "$WINDLASS" run plain "$DIR" -- true

# A run that was killed leaves its volfile; the next one removes it.
expect "what is left" "" "$(ls /run/windlass/view-* /tmp/windlass-65534/view-* 2>/dev/null)"
