#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Commands of root about the mount of a hostile user: the user's links lead them to no other daemon,
# nothing there makes them wait without an end or a word, and no answer writes to the terminal.
# builds: debug
# through: device
. "$(dirname "$0")/../lib.sh"

let_users_mount
need_command setpriv python3
theirs=/tmp/windlass-65534
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$theirs".hostile* "$theirs"/*; cleanup' EXIT

# The user's daemon: it mounts, and serves its socket in a way of its own. Nothing answers the
# kernel.
cat >hostile.py <<'EOF_PY'
import os, socket, struct, subprocess, sys, time

point, mode, *more = sys.argv[1:]
ours, theirs = socket.socketpair()
subprocess.run(["fusermount3", "-o", "rw,subtype=windlass,fsname=windlass:x", "--", point],
               env={**os.environ, "_FUSE_COMMFD": str(theirs.fileno())},
               pass_fds=[theirs.fileno()], check=True)
device = socket.recv_fds(ours, 1, 1)[1][0]
number = [line.split()[2] for line in open("/proc/self/mountinfo") if line.split()[4] == point][-1]
kept = []

def listening(folder):
    os.makedirs(folder, mode=0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/{number}.sock")
    listener.listen(0 if mode == "full" else 8)
    kept.append(listener)
    return listener

def fill(folder):
    listening(folder)
    while True:
        kept.append(socket.socket(socket.AF_UNIX))
        kept[-1].setblocking(False)
        try:
            kept[-1].connect(f"{folder}/{number}.sock")
        except BlockingIOError:
            return

def answer(status, text):
    return b"WLAN" + struct.pack(">II", 1, 4 + len(text)) + struct.pack(">I", status) + text

EVIL = b"\x1b[31m\xc2\x9b31m\xe2\x80\xae"
def answer_to(request):
    if mode == "busy":
        return answer(115, b"not yet") # EINPROGRESS
    if b"commands" in request:
        return answer(0, EVIL + b" heal: type cluster/replicate\n")
    if b"timeline-cat" in request:
        return answer(0, b"again\n" if mode == "pieces" else b'\n["' + EVIL + b'"]\n')
    return answer(1, EVIL)

folder = "/tmp/windlass-65534"
if mode == "link":
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.symlink(more[0], f"{folder}/{number}.sock")
elif mode == "full":
    for i in range(20):
        fill(f"{folder}.hostile{i}")
else:
    listener = listening(folder)
if mode == "hang":
    ours, theirs = socket.socketpair()
    subprocess.run(["fusermount3", "-o", "rw,allow_other", "--", more[0]],
                   env={**os.environ, "_FUSE_COMMFD": str(theirs.fileno())},
                   pass_fds=[theirs.fileno()], check=True)
    kept.append(socket.recv_fds(ours, 1, 1)[1][0])
print("ready", flush=True)
while mode in ("link", "full", "hang"):
    time.sleep(1000)
while True:
    client = listener.accept()[0]
    request = client.recv(1 << 16)
    try:
        if mode == "drip":
            for byte in answer(0, b"x" * 1000):
                client.sendall(bytes([byte]))
                time.sleep(2)
        else:
            client.sendall(answer_to(request))
    except OSError:
        pass
    client.close()
EOF_PY

# hostile POINT MODE [ARGUMENT]: mounts; $THEIRS is the process.
hostile () {
    mkdir -p "$TEST_DIR/$1"
    chown 65534 "$TEST_DIR/$1"
    setpriv --reuid 65534 --regid 65534 --clear-groups env -C / python3 - "$TEST_DIR/$1" \
        "${@:2}" <hostile.py >"$1.said" &
    THEIRS=$!
    wait_until "grep -q ready '$1.said' || ! is_running $THEIRS"
    grep -q ready "$1.said" || fail "the hostile user can't mount"
}

# within SECONDS COMMAND...: it fails, in that time; what it says goes to `said`.
within () {
    local seconds=$1 since=$SECONDS
    shift
    timeout 60 "$@" >said 2>&1 && fail "it did not fail: $*: $(cat said)"
    [ $((SECONDS - since)) -le "$seconds" ] || fail "$* took $((SECONDS - since)) seconds"
}

# A link to the socket of root's daemon.
stack
mount_volfile "$VOL"
device=$(awk -v path="$MNT" '$5 == path { print $3 }' /proc/self/mountinfo)
hostile link link "/run/windlass/$device.sock"
within 5 "$WINDLASS" counts "$TEST_DIR/link"
expect_no_match "root's daemon, by a link" "pid=|requests=" "$(cat said)"
expect_match "what is said of the link" "the daemon of '.*/link' can't be reached" "$(cat said)"
expect_ok "$WINDLASS" counts "$MNT"
# The same where the folder is a link.
other=$(awk -v path="$TEST_DIR/link" '$5 == path { print $3 }' /proc/self/mountinfo)
rm "$theirs/$other.sock"
user ln -s /run/windlass "$theirs.hostile"
mv "/run/windlass/$device.sock" "/run/windlass/$other.sock"
within 5 "$WINDLASS" counts "$TEST_DIR/link"
expect_match "what is said of the folder" "the daemon of '.*/link' can't be reached" "$(cat said)"
# A process of root behind a socket of the user.
rm "$theirs.hostile"
python3 - "$theirs/$other.sock" <<'EOF_PY' &
import os, socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.chown(sys.argv[1], 65534, 65534)
listener.listen()
time.sleep(1000)
EOF_PY
wait_until '[ -S "$theirs/$other.sock" ]'
wait_until '[ "$(stat -c %u "$theirs/$other.sock")" = 65534 ]'
within 5 "$WINDLASS" counts "$TEST_DIR/link"
expect_match "what is said of root behind the user's socket" "not permitted" "$(cat said)"
rm "$theirs/$other.sock"
mv "/run/windlass/$other.sock" "/run/windlass/$device.sock"
kill $THEIRS

# Queues that are full, in many folders.
hostile full full
within 12 "$WINDLASS" counts "$TEST_DIR/full"
expect_match "what is said of full queues" "doesn't answer" "$(cat said)"
since=$SECONDS
expect_ok "$WINDLASS" list
[ $((SECONDS - since)) -le 6 ] || fail "the list took $((SECONDS - since)) seconds"
kill $THEIRS
rm -r "$theirs".hostile*

# A file system that never answers, over the folder of sockets.
if [ -e /etc/fuse.conf ]; then
    echo user_allow_other >fuse.conf
    mount --bind fuse.conf /etc/fuse.conf
    mkdir -p /run/user
    mount -t tmpfs run /run/user
    mkdir -m 700 /run/user/65534
    chown 65534 /run/user/65534
    hostile hang hang /run/user/65534
    within 12 "$WINDLASS" counts "$TEST_DIR/hang"
    expect_match "what is said of a folder that hangs" \
        "sockets of user 65534 \(/run/user.*\) was not answered; a file system that hangs" "$(cat said)"
    expect_match "the list" "^$TEST_DIR/hang .* - " "$(timeout 20 "$WINDLASS" list)"
    expect_ok timeout 20 "$WINDLASS" umount --lazy "$TEST_DIR/hang"
    kill $THEIRS
    umount -l /run/user
    # The folder itself: the kernel knows that it is not the user's.
    hostile root hang "$theirs"
    within 5 "$WINDLASS" counts "$TEST_DIR/root"
    umount -l "$theirs"
    kill $THEIRS
fi

# A recording that is never whole, or never sorted: it is said what is waited for.
for how in "pieces cat" "busy stop"; do
    hostile ${how% *} ${how% *}
    timeout -s INT 7 "$WINDLASS" timeline ${how#* } "$TEST_DIR/${how% *}" >out 2>said &&
        fail "timeline ${how#* } came to an end"
    expect_match "what is said of a daemon that is ${how% *}" \
        "still waiting for the daemon of '.*', which belongs to user 65534; Ctrl-C ends" \
        "$(cat said)"
    kill $THEIRS
done

# Text that is not for a terminal.
hostile evil evil
"$WINDLASS" timeline cat "$TEST_DIR/evil" --json >out 2>said || fail "no JSON: $(cat said)"
expect "the JSON" '["\u001b[31m\u009b31m\u202e"]' "$(cat out)"
cat out >all
"$WINDLASS" heal "$TEST_DIR/evil" /x >>all 2>&1 && fail "the hostile daemon heals"
"$WINDLASS" counts "$TEST_DIR/evil" >>all 2>&1
expect "bytes that are for a terminal" "" "$(LC_ALL=C grep -aP \
    '[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' all | cat -v)"
kill $THEIRS

# An answer that drips, a byte every two seconds.
if [ -n "$(amount '' yes)" ]; then
    hostile drip drip
    within 40 "$WINDLASS" counts "$TEST_DIR/drip"
    expect_match "what is said of an answer that drips" "didn't answer: .*timed out" "$(cat said)"
    kill $THEIRS
fi
