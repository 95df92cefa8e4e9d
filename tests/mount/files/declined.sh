#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Requests that the daemon declines once for all: the kernel then answers the caller itself. A
# stopped daemon answers nothing, so a call that still sends a request would wait.
. "$(dirname "$0")/../lib.sh"
need_command python3

# poll(2) of a regular file: it is always ready, and io_uring polls before each buffered transfer.
cat >polls.py <<'END'
import select, sys
ready = select.poll()
file = open(sys.argv[1], "rb+")
ready.register(file, select.POLLIN | select.POLLOUT)
def ask():
    return [events for _, events in ready.poll(0)]
print(ask(), flush=True)
sys.stdin.readline()
print(ask(), flush=True)
END

stack
echo text >"$BACK/f"
mount_volfile "$VOL"
mkfifo ask answer
python3 polls.py "$MNT/f" <ask >answer &
exec 8>ask 9<answer
read -r first <&9
expect "poll of a file" "[$((0x1 | 0x4))]" "$first"
kill -STOP "$DAEMON"
echo >&8
read -t 10 -r second <&9 || second="nothing for 10 seconds"
kill -CONT "$DAEMON"
expect "poll of a file, again" "[$((0x1 | 0x4))]" "$second"
wait $!
unmount
