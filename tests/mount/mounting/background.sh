#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The program returns when the mount works; with -N and --debug it stays; the log and the pid file
# are in their places.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"

stack encryption/rot-13
cd "$TEST_DIR" || exit 1
out=$("$WINDLASS" -f test.vol -l log -L DEBUG -p pid mnt 2>&1)
expect "exit status and output" "0 " "$? $out"
is_mounted || fail "it came back, but isn't mounted"
DAEMON=$(cat pid)
expect "the daemon's folder" / "$(readlink "/proc/$DAEMON/cwd")"
expect "its descriptors" "/dev/null /dev/null /dev/null" \
    "$(readlink /proc/$DAEMON/fd/{0,1,2} | paste -sd' ')"
expect "the log's mode" 600 "$(stat -c %a log)"
expect_match "the log" \
    '^\[20[0-9-]+ [0-9:.]+ \+0000\] I \[main.c:[0-9]+:[a-z_]+\] 0-windlass: started running version .*test.vol' \
    "$(cat log)"
expect_match "the graph in the log" '^ +[0-9]+: +type encryption/rot-13$' "$(cat log)"

# Users in other folders are shown the volfile by a path that leads to it.
expect_match "the volfile in the list" "^$MNT +$TEST_DIR/test.vol " "$("$WINDLASS" list)"
expect_match "the volfile of an option" "option directory = .* \($TEST_DIR/test.vol:[0-9]" \
    "$("$WINDLASS" explain "$MNT")"

mkdir other
expect "a second start with the same pid file" \
    "1 windlass: pid file '$TEST_DIR/pid' is in use by another process" \
    "$("$WINDLASS" -f test.vol -l log2 -p pid other 2>&1 >/dev/null |
    (read -r line; echo "1 $line"))"
expect "the pid file" "$DAEMON" "$(cat pid)"
unmount
[ ! -e pid ] || fail "the pid file is left"

for option in "-N -l log" "--debug -l debug.log" --debug; do
    # shellcheck disable=SC2086 # these are words
    "$WINDLASS" $option -f test.vol -p pid mnt >said 2>&1 &
    started=$!
    wait_until is_mounted
    expect "the process that runs with $option" $started "$(cat pid)"
    umount mnt 2>/dev/null || fusermount3 -u mnt
    wait $started
    expect "its exit status after an unmount" 0 $?
    [ "$option" = --debug ] || expect "the terminal with $option" "" "$(cat said)"
done
expect_match "the log with --debug -l" ' D \[' "$(cat debug.log)"

# The terminal of -N is closed, which the help tells of: the mount works on.
expect_match "the help of -N" 'foreground; closing the terminal does not end it' \
    "$("$WINDLASS" --help)"
python3 - "$WINDLASS" --debug -f test.vol -p pid mnt <<'END'
import os, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while not os.path.ismount("mnt"):
    os.read(terminal, 4096)
os.close(terminal)
END
DAEMON=$(cat pid)
wait_until 'grep -qE "^ShdPnd:[[:space:]]0+$" "/proc/$DAEMON/status"' # SIGHUP is taken
echo works >mnt/after || fail "the mount does not work after the terminal"
expect "the process" "pid=$DAEMON" "$("$WINDLASS" counts mnt | grep ^pid=)"
unmount

# The daemon of the mount before holds the pid file for a moment longer, and then takes it away.
python3 -c '
import fcntl, os, time
file = open("pid", "w")
fcntl.lockf(file, fcntl.LOCK_EX)
open("held", "w").close()
time.sleep(0.5)
os.unlink("pid")
file.close()' &
wait_until '[ -e held ]'
expect_ok "$WINDLASS" -f test.vol -l log -p pid mnt
DAEMON=$(cat pid)
wait
unmount
[ ! -e pid ] || fail "the pid file is left after it was waited for"

# An unmount right after the first answer finds the mount in place.
for i in 1 2 3 4 5 6 7 8; do
    "$WINDLASS" -N -f test.vol -l log -p pid mnt &
    started=$!
    wait_until is_mounted
    ls mnt >/dev/null
    umount mnt 2>/dev/null || fusermount3 -u mnt
    wait $started
    expect "the exit status after a quick unmount ($i)" 0 $?
done
expect_match "the graph on the terminal" 'option directory' "$(cat said)"

expect_error \
    "log file '.*/nowhere/log': No such file.*: there is no directory '.*/nowhere'; make it first" \
    "$WINDLASS" -f test.vol -l nowhere/log mnt
expect_error \
    "pid file '.*/nowhere/pid': No such file.*: there is no directory '.*/nowhere'; make it first" \
    "$WINDLASS" -f test.vol -l log -p nowhere/pid mnt
! is_mounted || fail "it is mounted without a log"
"$WINDLASS" -f - -l log -p pid mnt <test.vol ||
    fail "can't read the volfile from the standard input"
is_mounted || fail "it is not mounted from the standard input"
DAEMON=$(cat pid)
unmount
