#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Commands of translators as subcommands, and the socket by which ordinary users give them to root's
# daemon: who may give which, what a job answers, and that no client holds up root or another user.
. "$(dirname "$0")/../lib.sh"
need_root
need_command python3
export WINDLASS_XLATOR_PATH=$WINDLASS_TEST_XLATORS:$BUILD_DIR/xlators
USERS=/run/windlass.users

volfile () {
    cat >"$VOL" <<END
volume storage
    type storage/posix
    option directory $TEST_DIR/export
end-volume
volume theirs
    type ${1-test/users}
    subvolumes storage
end-volume
END
}
# as UID COMMAND...
as () {
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}
# The same in the background: adds its process to pids.
as_background () {
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@" >"ready.$uid" &
    pids+=($!)
}
mkdir -p "$TEST_DIR/export"
chmod 755 "$TEST_DIR"
sockets () {
    find $USERS -type s 2>/dev/null
}

# Not where other users have no access to the mount.
volfile
mount_volfile "$VOL" -o no_allow_other
expect "sockets for users" "" "$(sockets)"
expect "root" "0 0: [a b] []" "$("$WINDLASS" users who "$MNT" 'a b' '')"
expect_error 'takes no commands of users' as 1234 "$WINDLASS" users who "$MNT"
unmount

mount_volfile "$VOL"
expect "the folder" "0 711" "$(stat -c '%u %a' $USERS)"
socket=$(sockets)
expect "the socket" "0 666" "$(stat -c '%u %a' "$socket")"

# Who asks is known from the kernel, with the groups.
expect "a user" "1234 1234: [one]" "$(as 1234 "$WINDLASS" users who "$MNT" one)"
expect "a user with groups" "1234 1234 5 6:" \
    "$(setpriv --reuid 1234 --regid 1234 --groups 5,6 "$WINDLASS" users who "$MNT")"
expect "a path below the mount point" "1234 1234: [x/y] [/x]" \
    "$(as 1234 "$WINDLASS" users who "$MNT" "$MNT/x/y" /x)"

# What is not open, and what the daemon has of its own, is for root.
expect "root" "for root" "$("$WINDLASS" users closed "$MNT")"
expect_error 'not permitted' as 1234 "$WINDLASS" users closed "$MNT"
expect_error 'not permitted' as 1234 "$WINDLASS" counts "$MNT"
expect_error 'not permitted' as 1234 "$WINDLASS" jobs list "$MNT"

# Usage.
expect_error 'which command' "$WINDLASS" users
expect_error "no command 'told'" "$WINDLASS" users told "$MNT"
expect_error 'which mount point' "$WINDLASS" users who
expect_error 'lines needs NUMBER' "$WINDLASS" users lines "$MNT"
expect_error 'too many arguments' "$WINDLASS" users closed "$MNT" one
expect_match "--help" 'windlass users lines MOUNTPOINT NUMBER' "$("$WINDLASS" users --help)"

# A job: its lines in order, also when they come in several pieces, and its failure.
expect "a job of root" "line 0" "$("$WINDLASS" users lines "$MNT" 1)"
as 1234 "$WINDLASS" users lines "$MNT" 300000 >lines
seq -f 'line %.0f' 0 299999 | cmp - lines || fail "the lines differ"
expect_error 'no lines are wanted' as 1234 "$WINDLASS" users lines "$MNT" 0
expect "jobs" "" "$("$WINDLASS" jobs list "$MNT")"

# Several commands of a user take turns.
for i in 1 2 3 4; do
    as 1234 "$WINDLASS" users lines "$MNT" 50000 >"lines.$i" &
done
wait %1 %2 %3 %4 || fail "a command of several at once failed"
for i in 1 2 3 4; do
    expect "the lines of $i" 50000 "$(wc -l <"lines.$i")"
done

cat >hostile.py <<'END'
import os, socket, struct, sys, time
path, how = sys.argv[1:]

def connect():
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(20)
    one.connect(path)
    return one

def request(command, target, given=b""):
    rest = struct.pack(">HH", len(command), len(target)) + command + target + given
    return b"WLRQ" + struct.pack(">II", 1, len(rest)) + rest

def ask(*what, one=None):
    one = one or connect()
    try:
        one.sendall(request(*what))
    except BrokenPipeError:
        pass
    data = b""
    while True:
        try:
            more = one.recv(1 << 16)
        except ConnectionResetError:
            break
        if not more:
            break
        data += more
    return struct.unpack(">I", data[12:16])[0], data[16:]

if how == "forbidden":
    # Commands of the daemon, of root, of other targets; and answers of other users' jobs.
    for what in [(b"counts", b""), (b"commands", b""), (b"statedump", b""), (b"jobs", b""),
                 (b"job-stop", b"", b"1"), (b"await-end", b""), (b"reload", b""),
                 (b"closed", b"test/users"), (b"told", b"theirs"), (b"who", b"storage"),
                 (b"who", b"../theirs"), (b"who", b"")]:
        status, text = ask(*what)
        assert status == 1 and b"storage" not in text, (what, status, text)
    for number in range(1, 50):
        status, text = ask(b"job-answer", b"", b"\n%d" % number)
        assert status == 3, (number, status, text)
    for number in [b"", b"0", b"-1", b"99999999999999999999", b"1x", b"\x00"]:
        status, text = ask(b"job-answer", b"", b"\n" + number)
        assert status in (22, 3), (number, status)
elif how == "large":
    one = connect()
    status, text = ask(b"who", b"theirs", b"x" * (1 << 17), one=one)
    assert status == 90, (status, text)
elif how == "twice":
    first = connect()
    time.sleep(0.1)
    status, text = ask(b"who", b"theirs")
    assert status == 87, (status, text) # EUSERS
elif how == "late":
    one, since = connect(), time.monotonic()
    data = one.recv(1 << 16)
    assert struct.unpack(">I", data[12:16])[0] == 110 and time.monotonic() - since < 15, data
elif how == "jobs":
    # Jobs whose answers nobody reads: a few, and then no more.
    statuses = [ask(b"lines", b"theirs", b"1\0")[0] for i in range(6)]
    assert statuses == [0, 0, 0, 0, 11, 11], statuses
elif how == "hold": # a connection, idle, again and again
    print("ready", flush=True)
    while True:
        try:
            one = connect()
            one.recv(1)
        except OSError:
            pass
elif how == "flood":
    print("ready", flush=True)
    while True:
        try:
            connect().close()
        except OSError:
            pass
END
for how in forbidden large twice late; do
    as 1235 python3 hostile.py "$socket" $how || fail "a client that is $how"
done
# The answer of a job is for its user alone.
number=$(as 1236 python3 - "$socket" <<'END'
import sys
sys.argv = ["", sys.argv[1], ""]
exec(open("hostile.py").read())
print(ask(b"lines", b"theirs", b"3\0")[1].decode().strip())
END
)
as 1235 python3 hostile.py "$socket" forbidden || fail "an answer of another user"
expect_match "the job of the other user" "^job $number: lines" "$("$WINDLASS" jobs list "$MNT")"
as 1237 python3 hostile.py "$socket" jobs || fail "jobs without a reader"
expect "others meanwhile" "line 0" "$(as 1234 "$WINDLASS" users lines "$MNT" 1)"

# Clients that hold connections, and a flood of them: root and other users are served.
pids=()
for uid in 2000 2001 2002 2003; do
    as_background $uid python3 hostile.py "$socket" hold
    as_background $((uid + 100)) python3 hostile.py "$socket" flood
done
for uid in 2000 2001 2002 2003; do
    wait_until "grep -q ready ready.$uid && grep -q ready ready.$((uid + 100))"
done
for i in 1 2 3; do
    expect_ok timeout 20 "$WINDLASS" counts "$MNT"
    expect "a user" "1234 1234:" "$(as 1234 timeout 60 "$WINDLASS" users who "$MNT")"
done
kill "${pids[@]}"
wait "${pids[@]}" 2>/dev/null

# A folder that others may write to is not looked into.
chmod 733 $USERS
expect_error 'takes no commands' as 1234 "$WINDLASS" users who "$MNT"
chmod 711 $USERS

# The socket goes with the last translator that has such commands, and comes back.
volfile features/read-only
expect_ok "$WINDLASS" reload "$MNT"
expect "sockets for users" "" "$(sockets)"
expect_error 'takes no commands of users' as 1234 "$WINDLASS" users who "$MNT"
volfile
expect_ok "$WINDLASS" reload "$MNT"
expect "a user" "1234 1234:" "$(as 1234 "$WINDLASS" users who "$MNT")"
unmount
expect "sockets for users" "" "$(sockets)"
