#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A GlusterFS volume of one brick is mounted by its name: its server's glusterd has the volfile and
# knows the brick's port. A stock client sees the same files.
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterd gluster glusterfs python3
server=127.1.1.1

# windlass_refused REGEX WORD...: nothing is mounted
windlass_refused () {
    local regex=$1
    shift
    expect_error "$regex" timeout 60 "$WINDLASS" -l "$LOG" "$@" "$MNT"
    expect_error '' mountpoint -q "$MNT"
}

windlass_refused "no glusterd listens at $server, port 24007" $server:/home
glusterd_begin $server
expect_ok gluster_do volume create home $server:"$TEST_DIR/home.d" force
windlass_refused "not started|has no volume|can't be used" $server:/home
expect_ok gluster_do volume start home
windlass_refused "has no volume 'none', or the volume is not started" $server:/none
windlass_refused "there is no address of 'none.invalid'" none.invalid:/home

out=$("$WINDLASS" check $server:/home 2>&1) || fail "check failed: $out"
expect_match "what check says" "^$server:/home: ok, [0-9]* volumes, top 'home'" "$out"

mount_volume 127.1.1.2,$server:/home "$MNT"
cp -r "$SOURCE_DIR/src/core" "$MNT/core"
mkdir "$MNT/directory"
echo text >"$MNT/directory/file"
secret=$(grep -h 'option password' "$TEST_DIR"/glusterd/vols/home/*fuse.vol | awk '{ print $3 }')
[ -n "$secret" ] || fail "the volume has no password to look for"
expect_no_match "the graph, for anybody" "$secret" "$("$WINDLASS" graph "$MNT")"
explained=$("$WINDLASS" explain "$MNT/directory/file")
expect_match "explain" '^    option password = ' "$explained"
expect_no_match "what explain says" "$secret" "$explained"
expect_no_match "the log" "$secret" "$(cat "$LOG")"
expect_no_match "the files of .meta" "$secret" "$(cat "$MNT"/.meta/graphs/active/volfile \
    "$MNT"/.meta/graphs/active/home-client-0/private)"
unmount

# doc/quickstart-gluster.md, as it is written, with this volume.
mkdir "$TEST_DIR/t"
said=$(EXAMPLES_VOLUME=$server:/home python3 "$SOURCE_DIR/tests/mount/debugging/examples.py" "$SOURCE_DIR" \
    "$TEST_DIR/t" "$SOURCE_DIR/doc/quickstart-gluster.md") || fail "$said"
expect "what was run of the page" "4 examples were run" "$said"

mkdir stock
glusterfs -s $server --volfile-id=home -l "$TEST_DIR/stock.log" "$TEST_DIR/stock"
expect_ok diff -r "$SOURCE_DIR/src/core" stock/core
expect "what the stock client reads" text "$(cat stock/directory/file)"
echo more >>stock/directory/file

mount_volume -s $server --volfile-id=home "$MNT"
expect "what the stock client wrote" "text more" "$(paste -sd' ' "$MNT/directory/file")"
expect "attributes" "$(cd stock && find . -printf '%P %i %y %m %n %U %G %s %T@\n' | sort)" \
    "$(cd "$MNT" && find . -printf '%P %i %y %m %n %U %G %s %T@\n' | sort)"
umount stock
unmount

# A server that announces an answer of 1 MB and sends a byte now and then, or fragments without
# bytes, is given up; another one is asked.
cat >drip.py <<'EOF'
import socket, threading, time

def serve(server, first, drop, pause):
    client, _ = server.accept()
    try:
        client.sendall(first)
        while True:
            client.sendall(drop)
            time.sleep(pause)
    except OSError:
        pass

for address, first, drop, pause in (("127.1.1.4", b"\x80\x10\0\0", b"x", 0.3),
                                    ("127.1.1.5", b"", bytes(4 << 14), 0)):
    server = socket.create_server((address, 24007))
    threading.Thread(target=serve, args=(server, first, drop, pause)).start()
print("ready", flush=True)
EOF
coproc DRIP { exec python3 drip.py; }
BRICK_PID[drip]=$DRIP_PID
read -r -t 20 _ <&"${DRIP[0]}" || fail "the servers that drip did not start"
mount_volume 127.1.1.4,127.1.1.5,$server:/home "$MNT"
expect "what is read" "text more" "$(paste -sd' ' "$MNT/directory/file")"
unmount

windlass_refused "'backup-volfile-servers' is for SERVER:/VOLUME, got '/tmp/none" -f /tmp/none.vol \
    -o backup-volfile-servers=$server
WINDLASS=$WINDLASS "$BUILD_DIR/src/mount.windlass" 127.1.1.2:/home "$MNT" \
    -o "log-file=$LOG,pid-file=$TEST_DIR/pid,backup-volfile-servers=127.1.1.3:$server" ||
    fail "mount.windlass failed"
DAEMON=$(cat "$TEST_DIR/pid")
expect "the source of the mount" 127.1.1.2:/home "$(findmnt -no SOURCE "$MNT")"
expect_ok rm -r "$MNT/core"
unmount

# As GlusterFS's own mount has it: without a slash, and with addresses in brackets.
mount_volume $server:home "$MNT"
expect "what is read" "text more" "$(paste -sd' ' "$MNT/directory/file")"
unmount
mount_volume -f 127.1.1.2:home/directory -o "backup-volfile-servers=[::1]:$server" "$MNT"
expect "what is read" "text more" "$(paste -sd' ' "$MNT/file")"
unmount
mount_volume $server:home -o transport=tcp,subdir-mount=directory "$MNT"
expect "what is read" "text more" "$(paste -sd' ' "$MNT/file")"
expect_ok gluster_do volume set home performance.cache-size 64MB
wait_until "grep -q \"reload: volume 'home-quick-read': option 'cache-size': .* '64MB'\" '$LOG'"
unmount
expect_ok touch file:name
windlass_refused "file:name:1:1: .*no volume is defined|no volume is defined" -f file:name
