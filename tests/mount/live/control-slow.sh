#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A client of the control socket that takes its answer slowly gets it. One that is too slow hears so,
# and not that the daemon has ended.
. "$(dirname "$0")/../lib.sh"

need_root
need_command python3
stack test/online
mount_volfile "$VOL"
dev=$(awk -v path="$MNT" '$5 == path { dev = $3 } END { print dev }' /proc/self/mountinfo)
socket=/run/windlass/$dev.sock

cat >slow.py <<'EOF_PY'
import socket, struct, sys, threading, time

INPUT = b"x" * 500000 # more than a socket holds
NAMES = b"echo" + b"online-1"
REQUEST = (b"WLRQ" + struct.pack(">IIHH", 1, 4 + len(NAMES) + len(INPUT), 4, 8) + NAMES + INPUT)

def connected():
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    return client

def whole_answer(client):
    answer = b""
    while data := client.recv(1 << 16):
        answer += data
    return answer[16:].decode()

def takes_slowly():
    client = connected()
    client.sendall(REQUEST)
    time.sleep(7)
    print("slowly:", len(whole_answer(client)), flush=True)

def sends_half():
    client = connected()
    client.sendall(REQUEST[:1000])
    print("half:", whole_answer(client), flush=True)

for what in takes_slowly, sends_half:
    threading.Thread(target=what).start()
EOF_PY
said=$(python3 slow.py "$socket")
expect_match "a client that was stopped for 7 seconds" '^slowly: 500000$' "$said"
expect_match "a client that does not finish its request" \
    '^half: the request did not arrive as a whole within 5 seconds$' "$said"

# In place of the daemon: a socket that ends in the middle of an answer, and goes on listening or
# not.
cat >half.py <<'EOF_PY'
import os, socket, struct, sys

listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
for goes_on in True, False:
    client, _ = listener.accept()
    client.recv(1 << 16)
    client.sendall(b"WLAN" + struct.pack(">II", 1, 1000) + b"\0\0\0\0half")
    if not goes_on:
        os.remove(sys.argv[1])
        listener.close()
    client.close()
    if goes_on:
        listener.accept()[0].close()
EOF_PY
mv "$socket" "$socket.kept"
coproc HALF { exec python3 half.py "$socket"; }
read -r -t 20 _ <&"${HALF[0]}" || fail "nothing listens in place of the daemon"
expect_error "daemon of '$MNT' is there, but nothing of its answer was taken for 30 seconds" \
    "$WINDLASS" counts "$MNT"
expect_error "daemon of '$MNT' ended before it had sent all of its answer" "$WINDLASS" counts "$MNT"
mv "$socket.kept" "$socket"
expect_ok "$WINDLASS" counts "$MNT"
unmount
