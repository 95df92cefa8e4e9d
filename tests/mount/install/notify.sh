#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a service manager is told, in the foreground and from the background; and what the journal
# gets, in datagrams and in memory, or the standard error without it.
# builds: release debug
# through: device
. "$(dirname "$0")/../lib.sh"
need_root

# receive SOCKET FILE: writes each datagram to FILE as a line of Python, with the bytes of a file
# that comes instead; a name that begins with @ is abstract.
cat >receive <<'PYTHON'
import os, socket, sys
name = sys.argv[1].replace ("@", "\0")
end = socket.socket (socket.AF_UNIX, socket.SOCK_DGRAM)
end.bind (name)
print ("ready", flush=True)
with open (sys.argv[2], "a") as out:
    while True:
        data, files, _, _ = socket.recv_fds (end, 1 << 20, 1)
        for fd in files:
            data += b"MEMORY " + os.pread (fd, 1 << 26, 0)
            try:
                os.pwrite (fd, b"x", 0)
                data += b" NOT SEALED"
            except PermissionError:
                pass
            os.close (fd)
        print (ascii (data), file=out, flush=True)
PYTHON
receivers=
receive () {
    rm -f "${1#@}" "$2"
    python3 receive "$@" >ready &
    receivers="$receivers $!"
    wait_until "grep -q ready ready"
    : >ready
}
# shellcheck disable=SC2086 # several
trap 'kill $receivers 2>/dev/null; cleanup' EXIT

stack encryption/rot-13
for socket in "$PWD/manager" "@windlass-test-$$"; do
    receive "$socket" told
    NOTIFY_SOCKET=$socket mount_volfile "$VOL"
    wait_until "grep -q READY told"
    expect "the start" "b'READY=1\\nMAINPID=$DAEMON\\nSTATUS=Mounted on $MNT'" "$(cat told)"
    expect_ok "$WINDLASS" reload "$MNT"
    wait_until "[ \$(wc -l <told) = 3 ]"
    expect_match "the reload" 'RELOADING=1.nMONOTONIC_USEC=[0-9]+.nSTATUS=Reading' \
        "$(sed -n 2p told)"
    expect_match "after it" 'READY=1' "$(sed -n 3p told)"
    kill -HUP "$DAEMON"
    wait_until "[ \$(wc -l <told) = 5 ]"
    expect_match "SIGHUP" 'RELOADING=1' "$(sed -n 4p told)"
    unmount
    wait_until "grep -q 'STOPPING=1' told"
done
# In the foreground it is the process that was started, and a name with a newline is one line.
MNT="$PWD/new
MAINPID=1"
mkdir "$MNT"
receive "$PWD/manager" told
NOTIFY_SOCKET=$PWD/manager "$WINDLASS" -N -l "$LOG" -f "$VOL" "$MNT" &
DAEMON=$!
wait_until "grep -q READY told"
expect "in the foreground" \
    "b'READY=1\\nMAINPID=$DAEMON\\nSTATUS=Mounted on ${MNT//$'\n'/\\\\x0a}'" "$(cat told)"
unmount
MNT=$PWD/mnt

# The daemon of a view is none of the service manager's: the command tells it.
receive "$PWD/manager" told
NOTIFY_SOCKET=$PWD/manager "$WINDLASS" run plain "$BACK" -- python3 -c '
import os, socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])'
wait_until "[ -s told ]"
expect "from a view" "b'READY=1'" "$(cat told)"

# --- the journal --------------------------------------------------------------------------------

[ -d /run/systemd ] || mkdir /run/systemd
mount -t tmpfs none /run/systemd # in this mount namespace
mkdir /run/systemd/journal
# to_journal FILE OPTION...: as systemd starts it, with FILE for the stream to the journal.
to_journal () {
    local file=$1
    shift
    : >"$file"
    JOURNAL_STREAM=$(stat -c %d:%i "$file") HOME=$PWD "$WINDLASS" -p pid -f "$VOL" "$@" "$MNT" \
        2>"$file" || fail "not mounted: $(cat "$file")"
    DAEMON=$(cat pid)
}
receive /run/systemd/journal/socket entries
to_journal stream -L TRACE
stat "$MNT/"$'evil\nPRIORITY=0\n\xff' >/dev/null 2>&1
wait_until "grep -q evil entries"
entry=$(grep evil entries | head -n 1)
size='(.x[0-9a-f]{2}|.|.[nrt]){8}'
expect_match "a hostile name" "MESSAGE.n${size}.*evil.*x0aPRIORITY=0.*xff" "$entry"
expect "fields of priority" 1 "$(grep -o 'nPRIORITY\\n' <<<"$entry" | wc -l)"
expect_match "its level and translator" \
    "WINDLASS_LEVEL.n${size}TRACE.nWINDLASS_MOUNTPOINT.n${size}$MNT.nWINDLASS_TRANSLATOR.n${size}" \
    "$entry"
expect_match "its place" "CODE_FILE.n${size}[^ ]*\.c.nCODE_LINE.n${size}[0-9]+.nCODE_FUNC" "$entry"
expect "the stream" '' "$(cat stream)"

# A journal that takes nothing holds nobody up, and is told afterwards.
kill -STOP "${receivers##* }"
for n in {1..2000}; do
    echo "$MNT/missing-$n"
done | xargs stat >/dev/null 2>&1
kill -CONT "${receivers##* }"
wait_until 'stat "$MNT/after" 2>/dev/null; grep -q "entries of the log are lost" entries'
unmount

# The graph in one entry, larger than a datagram may be.
{
    cat "$VOL"
    below=rot-13-1
    for n in {1..500}; do
        name=v$n-$(printf '%0300d' 0)
        printf 'volume %s\n    type encryption/rot-13\n    subvolumes %s\nend-volume\n' "$name" \
            "$below"
        below=$name
    done
} >large.vol
VOL=$PWD/large.vol to_journal stream
wait_until "grep -q MEMORY entries"
expect_match "a large entry" "MEMORY MESSAGE.*volume v500-.*WINDLASS_LEVEL.n${size}INFO" \
    "$(cat entries)"
expect_no_match "a large entry" 'NOT SEALED' "$(cat entries)"
unmount

# -l goes before the journal, and so does a standard error that is not the one of the variable.
: >entries
to_journal stream -l "$LOG"
expect_match "the log" 'is mounted' "$(cat "$LOG")"
unmount
JOURNAL_STREAM=1:2 HOME=$PWD "$WINDLASS" -p pid -l "$LOG" -f "$VOL" "$MNT" || fail "not mounted"
DAEMON=$(cat pid)
unmount
expect "what the journal got" '' "$(cat entries)"

# Without the socket: lines with a priority, which the journal understands as well.
rm /run/systemd/journal/socket
to_journal stream -L TRACE
unmount
expect_match "the stream" "^<6>'$MNT' is mounted\$" "$(cat stream)"
expect_match "the stream" '^<7>posix: ' "$(cat stream)"
expect_match "the graph, in lines" '^<6> *[0-9]+: volume posix' "$(cat stream)"
expect_no_match "the stream" '^[^<]' "$(cat stream)"

# Errors before there is a log are entries with a priority, too.
early () {
    : >stream
    JOURNAL_STREAM=$(stat -c %d:%i stream) HOME=$PWD "$WINDLASS" -f "$1" "$MNT" 2>stream &&
        fail "mounted"
    expect_no_match "the stream" '^[^<]' "$(cat stream)"
}
early missing.vol
expect_match "a volfile that is missing" "^<3>.*'missing.vol'" "$(cat stream)"
echo nonsense >bad.vol
early bad.vol
expect_match "an error in a volfile" '^<3>bad.vol:1:1: error: ' "$(cat stream)"
