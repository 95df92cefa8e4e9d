#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `windlass list` shows the mounts and their states, `windlass umount` ends one, tells who uses it,
# and returns when everything is written and the daemon is gone. Neither waits for a mount that
# hangs.
# builds: debug
# shellcheck disable=SC2086
. "$(dirname "$0")/../lib.sh"

need_root
let_users_mount
need_command setpriv python3

as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
as_other="setpriv --reuid 1 --regid 1 --clear-groups"
# Other mounts of the machine are not looked at: one may hang.
awk '/ - fuse.windlass / { print $5 }' /proc/self/mountinfo | while read -r other; do
    umount -l "$other"
done

# field NAME [USER-COMMAND...]: of $MNT in the list, as JSON.
field () {
    local name=$1
    shift
    timeout 20 "$@" "$WINDLASS" list --json | python3 -c '
import json, sys
print(*[row[sys.argv[2]] for row in json.load(sys.stdin) if row["mountpoint"] == sys.argv[1]])' \
        "$MNT" "$name"
}

# Waits for a state that needs the daemon's answer in time, which a busy machine may not give.
becomes () {
    local state=$1
    shift
    wait_until "[ \"\$(field state $*)\" = $state ]"
}

# umount [OPTION] MOUNTPOINT, within 25 seconds
end () {
    timeout 25 "$WINDLASS" umount "$@"
}

stop_daemon () {
    kill -STOP "$DAEMON"
    wait_until 'grep -q "^State:.T" "/proc/$DAEMON/status"'
}

# Unmounts while the daemon is stopped. $ending waits for it then, and says why in `said`.
end_while_stopped () {
    stop_daemon
    end "$MNT" >said 2>&1 &
    ending=$!
    wait_until '! is_mounted'
}

stack debug/fault performance/write-behind,flush-behind=on
mount_volfile "$VOL"
becomes answers
row=$("$WINDLASS" list | grep -F "$MNT ")
expect_match "the row" "^$MNT +$VOL +$DAEMON +root +[a-z]+ +20[0-9-]+ [0-9:]+$" "$row"
expect "fields" "$VOL $DAEMON root 0" "$(for name in volume pid user uid; do
    field "$name"; done | paste -sd' ')"
since=$(date -d "$(field since)" +%s)
began=$(stat -c %Y "/proc/$DAEMON")
[ $((began - since)) -le 2 ] && [ $((since - began)) -le 2 ] || fail "since $since, not $began"
becomes answers $as_nobody
expect "which process it is, for another user" "None" "$(field pid $as_nobody)"

# A mount on a folder above hides it, one beside it does not.
mkdir "$TEST_DIR/beside"
mount -t tmpfs none "$TEST_DIR/beside"
becomes answers
mount -t tmpfs none "$TEST_DIR"
state=$(field state)
umount "$TEST_DIR"
expect "below another mount" covered "$state"
umount "$TEST_DIR/beside"
cd "$TEST_DIR" || exit 1

# Who uses it is told, and it stays mounted.
mkdir "$MNT/folder"
echo text >"$MNT/file"
(cd "$MNT/folder" && exec sleep 60) &
inside=$!
wait_until '[ "$(readlink /proc/$inside/cwd)" = "$MNT/folder" ]'
wait_until 'grep -qx sleep /proc/$inside/comm'
exec 7<"$MNT/file"
mount --bind "$BACK" "$MNT/folder"
said=$(end "$MNT" 2>&1) && fail "a busy mount was unmounted"
expect_match "the folder" "^  sleep \($inside\): current folder $MNT/folder$" "$said"
expect_match "the file" "^  .* \($$\): open file $MNT/file$" "$said"
expect_match "the mount" "^  mounted inside: $MNT/folder$" "$said"
is_mounted || fail "it was unmounted while it was busy"
umount "$MNT/folder"
exec 7<&-
# Lazily it is gone from its place at once, and lives for its user.
expect_ok end --lazy "$MNT"
! is_mounted || fail "it is still there"
is_running "$DAEMON" || fail "the daemon left its user"
kill $inside
wait $inside 2>/dev/null
wait_until "! is_running $DAEMON"

# When it returns, what a close left behind is written, and the daemon is gone.
mount_volfile "$VOL"
"$WINDLASS" fault "$MNT" - <<<'writev,flush -> delay 200ms'
head -c 300000 /dev/zero >"$MNT/late"
(cd "$MNT" && "$WINDLASS" umount ../mnt/. || exit 1) 2>said && fail "unmounted from inside"
expect "from inside, only the shell is told" 1 "$(grep -c 'current folder' said)"
expect_match "the shell" "current folder $MNT \(it has started this command\)$" "$(cat said)"
expect_match "what to do" "have a shell leave with 'cd /'" "$(cat said)"
(cd "$MNT" && exec "$WINDLASS" umount ../mnt/.) || fail "its own current folder kept it"
expect "what was written" 300000 "$(stat -c %s "$BACK/late")"
! is_running "$DAEMON" || fail "the daemon is still there"

# What could not be written is told, since the close that left it behind succeeded. The daemon
# collects warnings from the first caller that awaits its end: here that is one before the write, so
# that the failure comes afterwards.
mount_volfile "$VOL"
python3 -c 'import socket, struct, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(b"WLRQ" + struct.pack(">IIHH", 1, 13, 9, 0) + b"await-end")
print("asked", flush=True)
while client.recv(1 << 16):
    pass' "/run/windlass/$(mountpoint -d "$MNT").sock" >asked &
waiting=$!
wait_until '[ -s asked ]'
"$WINDLASS" fault "$MNT" - <<<'writev -> delay 200ms then error EIO' || fail "no rule"
echo lost >"$MNT/lost" || fail "the close did not leave the write behind"
end "$MNT" >said 2>&1 && fail "lost data is no error: $(cat said)"
wait $waiting
expect_match "data that is lost" "'$MNT' is unmounted; its daemon says:" "$(cat said)"
expect_match "what is lost" "5 bytes at offset 0 of '/lost' were not written" "$(cat said)"
expect "what is in the file" "" "$(cat "$BACK/lost")"

# Where the kernel gives no descriptor of the daemon, that is told.
if command -v strace >/dev/null; then
    mount_volfile "$VOL"
    # Under ptrace the sanitizer can't look for leaks.
    ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 timeout 25 strace -qq -o trace \
        -e trace=pidfd_open -e inject=pidfd_open:error=ENOSYS \
        "$BUILD_DIR/src/windlass" umount "$MNT" 2>said || fail "it was an error: $(cat said)"
    expect_match "without a descriptor of the daemon" \
        "everything is written, but whether its daemon has ended can't be found out" "$(cat said)"
    wait_until "! is_running $DAEMON"
fi

# A request that the daemon reads after the unmount counts.
mount_volfile "$VOL"
end_while_stopped
kill -CONT "$DAEMON"
wait $ending || fail "a clean end was an error: $(cat said)"
expect "what is said of a clean end" "" "$(grep -v 'to end$' said)"

# The file system stays mounted elsewhere.
mount_volfile "$VOL"
mkdir "$TEST_DIR/other"
mount --bind "$MNT" "$TEST_DIR/other"
end "$TEST_DIR/other" 2>said || fail "it was an error: $(cat said)"
expect_match "a bind mount" "'$TEST_DIR/other' is unmounted; .* still mounted on '$MNT'" "$(cat said)"
unshare -m --propagation private sleep 300 &
inside=$!
wait_until 'grep -qx sleep /proc/$inside/comm'
end "$MNT" 2>said || fail "it was an error: $(cat said)"
expect_match "a mount namespace" \
    "'$MNT' is unmounted; .* in the mount namespace of process $inside \(sleep\), so its daemon" \
    "$(cat said)"
is_running "$DAEMON" || fail "the daemon left the other mount namespace"
kill $inside
wait $inside 2>/dev/null
wait_until "! is_running $DAEMON"

# Without its socket.
mount_volfile "$VOL"
rm "/run/windlass/$(mountpoint -d "$MNT").sock"
end "$MNT" 2>said || fail "it was an error: $(cat said)"
expect_match "without a socket" "'$MNT' is unmounted, but its daemon .* can't be reached" \
    "$(cat said)"
wait_until "! is_running $DAEMON"

# Callers that wait for the end leave room for others, and are limited themselves.
mount_volfile "$VOL"
cat >await.py <<'END'
import socket, struct, sys

def awaits():
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    client.sendall(b"WLRQ" + struct.pack(">IIHH", 1, 13, 9, 0) + b"await-end")
    return client

def answer(client):
    got = b""
    while piece := client.recv(1 << 16):
        got += piece
    return struct.unpack(">I", got[12:16])[0], got[16:].decode()

clients = [awaits() for _ in range(64)]
print(*answer(awaits()), flush=True)
clients.pop().close()
print(*{answer(client) for client in clients})
END
python3 await.py "/run/windlass/$(mountpoint -d "$MNT").sock" >awaited &
waiting=$!
wait_until '[ -s awaited ]'
expect "one more that waits" "11 64 callers wait for the end of this daemon already" \
    "$(cat awaited)"
expect_ok timeout 20 "$WINDLASS" counts "$MNT"
expect_ok end "$MNT"
wait $waiting
expect "the answer of those that waited" "(0, '')" "$(tail -1 awaited)"

# A daemon that ends before it has written everything is told.
mount_volfile "$VOL"
end_while_stopped
kill -KILL "$DAEMON"
wait $ending && fail "a killed daemon was no error"
expect_match "what is said" \
    "process $DAEMON, ended before it had written everything; its log is '$LOG'" "$(cat said)"

# One that hangs.
mount_volfile "$VOL"
"$WINDLASS" fault "$MNT" - <<<'statfs -> hang'
expect "its state" stuck "$(field state)"
expect_ok end --lazy "$MNT"
wait_until "! is_running $DAEMON"

# One that is stopped, and one that is dead.
mount_volfile "$VOL"
stop_daemon
expect "the state of a stopped one" stuck "$(field state)"
kill -KILL "$DAEMON"
wait_until "! is_running $DAEMON"
expect "the state of a dead one" dead "$(field state)"
expect "its process" None "$(field pid)"
end "$MNT" 2>said || fail "a dead one can't be unmounted: $(cat said)"
expect_match "where to read why" "whether everything was written is not known; its log is '$LOG'" \
    "$(cat said)"
! is_mounted || fail "a dead mount is still there"

# A user's own. Root is told of it, too, and another user that it is private.
chown 65534 "$BACK" "$MNT"
user env HOME="$TEST_DIR" "$WINDLASS" -f "$VOL" -l /tmp/windlass-65534/log -p \
    /tmp/windlass-65534/pid "$MNT" || fail "the user can't mount"
DAEMON=$(cat /tmp/windlass-65534/pid)
name=$(id -nu 65534 2>/dev/null || echo 65534)
for as in "" "$as_nobody"; do
    expect "a user's mount for '$as'" "$DAEMON $name" \
        "$(for f in pid user; do field $f $as; done | paste -sd' ')"
    becomes answers $as
done
expect "for another user" "None private" \
    "$(for f in pid state; do field $f $as_other; done | paste -sd' ')"
expect_error "not permitted: '$MNT' belongs to user 65534" $as_other "$WINDLASS" umount "$MNT"
cd "$BACK" || exit 1
$as_nobody env -C / sh -c 'exec 8>"$1/held"; exec sleep 60' - "$MNT" &
inside=$!
wait_until 'grep -qx sleep /proc/$inside/comm'
for language in C de; do
    expect_error "sleep \($inside\): open file $MNT/held" $as_nobody env LC_ALL=C.UTF-8 \
        LANGUAGE=$language timeout 25 "$WINDLASS" umount "$MNT"
done
kill $inside
wait $inside 2>/dev/null
expect_ok $as_nobody timeout 25 "$WINDLASS" umount "$MNT"
! is_running "$DAEMON" || fail "the user's daemon is still there"

expect_error "is not a mount point; 'windlass list' shows them" "$WINDLASS" umount "$MNT"
expect_error "is not a Windlass mount, but one of type 'proc'" "$WINDLASS" umount /proc
