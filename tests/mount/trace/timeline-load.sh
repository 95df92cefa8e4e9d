#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A timeline that is started and stopped a thousand times while programs read and write: no request
# is lost, nothing is left.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"
need_command python3

stack debug/delay-gen,delay-percentage=20%,delay-duration=1000,enable=writev encryption/rot-13
mount_volfile "$VOL"

# Each reads back what it wrote, and says so in the end.
load () {
    local n=0
    while [ ! -e stop ]; do
        n=$((n + 1))
        echo "$1 $n" >"$MNT/file$1"
        [ "$(cat "$MNT/file$1")" = "$1 $n" ] || { echo "wrong content after $n rounds"; return; }
    done
    echo "fine after $n rounds"
}
loads=()
for i in 1 2 3; do
    load $i >"load$i" &
    loads+=($!)
done

# Over one process that talks to the socket: a thousand of them would take most of the time.
python3 - "$MNT" <<'PYTHON' >said || fail "$(cat said)"
import errno
import os
import socket
import struct
import sys
import time

for line in open("/proc/self/mountinfo", encoding="utf-8"):
    fields = line.split()
    if fields[4] == sys.argv[1]:
        name = fields[2] + ".sock"
runtime = os.environ.get("XDG_RUNTIME_DIR")
folders = ["/run/windlass", runtime + "/windlass" if runtime else "",
           f"/tmp/windlass-{os.getuid()}"]
path = next(os.path.join(folder, name) for folder in folders
            if os.path.exists(os.path.join(folder, name)))


def tell(command, text):
    body = struct.pack(">HH", len(command), 0) + command.encode() + text.encode()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        sock.sendall(b"WLRQ" + struct.pack(">II", 1, len(body)) + body)
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
    status, said = struct.unpack(">I", answer[12:16])[0], answer[16:].decode()
    if status == errno.EINPROGRESS:
        return tell(command, text)
    if status:
        sys.exit(f"{command}: {said}")
    return said


# The machine decides whether a request comes and goes while a timeline runs: so run some more of
# them, until enough did.
seen = rounds = 0
deadline = time.monotonic() + 120
while rounds < 1000 or seen <= 100 and time.monotonic() < deadline:
    rounds += 1
    tell("timeline", "start\nmemory=1MB\n")
    summary = tell("timeline", "stop\n")
    seen += int(summary.split()[0])
    if "missing" in summary and "lost" not in summary:
        sys.exit(summary)
print(rounds, "timelines saw requests:", seen)
PYTHON
touch stop
wait "${loads[@]}"
cat load? said
for i in 1 2 3; do
    expect_match "load $i" '^fine after [1-9]' "$(cat load$i)"
done
[ "$(sed 's/.*: //' said)" -gt 100 ] || fail "$(cat said)"
wait_until '"$WINDLASS" counts "$MNT" | grep -q "^requests=0$"'
expect_no_match "the log" 'answered twice|unanswered|another operation' "$(cat "$LOG")"
unmount
