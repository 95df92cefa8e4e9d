#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick that can't be used: no mount, and a sentence that says what is wrong, and where.
. "$(dirname "$0")/lib.sh"

# refused REGEX: $VOL isn't mounted, for that reason
refused () {
    expect_error "$1" timeout 20 "$WINDLASS" -f "$VOL" -l "$LOG" --io-uring=off "$MNT"
    expect_error '' mountpoint -q "$MNT"
}

# server PROGRAM: a server of our own on port 5000, in Python, with each connection as `link`
server () {
    cat >server.py <<EOF
import socket, struct, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", 5000))
listener.listen()
print("ready", flush=True)
links = []
while True:
    link, _ = listener.accept()
    links.append(link)
    question = link.recv(4096)
    try:
$(sed 's/^/        /' <<<"$1")
    except OSError:
        pass
EOF
    coproc SERVER { exec python3 server.py; }
    BRICK_PID[server]=$SERVER_PID
    read -r _ <&"${SERVER[0]}"
}

server_end () {
    kill "$SERVER_PID"
    wait "$SERVER_PID" 2>/dev/null
    unset "BRICK_PID[server]"
}

BRICK_PORT[one]=5000
brick_volfile one
refused 'no server listens at 127\.0\.0\.1, port 5000'
sed -i 's/127.0.0.1/no-such-host.invalid/' "$VOL"
refused "there is no address of 'no-such-host\.invalid'"
printf 'volume one\n  type protocol/client\n  option remote-subvolume b\nend-volume\n' >"$VOL"
refused "no 'option remote-host HOST'"
printf 'volume one\n  type protocol/client\n  option remote-subvolume b
  option transport-type unix\n  option transport.socket.connect-path /none\nend-volume\n' >"$VOL"
refused "no server listens at '/none'"

# Servers that are none.
brick_volfile one
server 'link.close ()'
refused 'the server has closed the connection'
server_end
server 'link.sendall (b"HTTP/1.1 400 Bad Request\r\n\r\n")'
refused 'announced a record of [0-9]* bytes; at most [0-9]* are allowed'
server_end
server 'link.sendall (struct.pack (">II", 0x80000004, 7))'
refused 'a record of less than 8 bytes'
server_end
server 'link.sendall (struct.pack (">III", 0x80000008, 7, 9))'
refused 'neither a call nor a reply'
server_end
server 'xid = question[4:8]
link.sendall (struct.pack (">I", 0x80000020) + xid + struct.pack (">IIIIIII", 1, 0, 0, 0, 1, 0, 0))'
refused 'rejected DUMP; is it a GlusterFS server'
server_end
server 'xid = question[4:8]
link.sendall (struct.pack (">I", 0x8000001c) + xid + struct.pack (">IIIIII", 1, 0, 0, 0, 0, 5))'
refused 'answer to DUMP is no answer'
server_end
server 'pass'
brick_volfile one ping-timeout=2
refused 'has sent nothing for the time of ping-timeout'
server_end

# A server that refuses.
BRICK_PORT=()
BRICK_OPTIONS=('option auth.login.one.allow alice' 'option auth.login.alice.password secret')
brick one
brick_volfile one
sed -i 's/remote-subvolume one/remote-subvolume two/' "$VOL"
refused "the server refused 'two': .*remote-subvolume must name a volume"
brick_volfile one username=alice password=wrong
refused "the server refused 'one': .*password"
brick_volfile one username=alice password=secret
mount_volfile "$VOL"
echo text >"$MNT/file"
expect "what a client with the password wrote" text "$(cat "$TEST_DIR/one.d/file")"
unmount
