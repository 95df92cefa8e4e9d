#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files opened with O_APPEND: with passthrough-append the kernel appends by itself, wherever another
# descriptor writes; without it, a program may remove the flag.
. "$(dirname "$0")/../lib.sh"
need_root
need_command python3
PASSTHROUGH=auto

opens () {
    sed -n 's/^passthrough_opens = //p' "$MNT/.meta/master/private"
}

cat >append.py <<'END'
import os, signal, sys, threading
kind, path, daemon = sys.argv[1], sys.argv[2], int(sys.argv[3])
append = os.O_RDWR | os.O_APPEND
first = os.open(path, append | os.O_CREAT | os.O_EXCL, 0o644)
second, other = os.open(path, append), os.open(path, os.O_RDWR)
if kind == "passed":
    os.write(first, b"w") # the kernel asks for file capabilities now
    waited = threading.Event()
    rescue = threading.Timer(5, lambda: (waited.set(), os.kill(daemon, signal.SIGCONT)))
    rescue.start()
    os.kill(daemon, signal.SIGSTOP)
    os.write(first, b"ithout ")
    os.kill(daemon, signal.SIGCONT)
    rescue.cancel()
    assert not waited.is_set(), "an append waited for the daemon"
for i in range(100):
    os.write(first, b"a")
    os.write(second, b"b")
    os.pwrite(other, b"W", 0)
want = (b"without " if kind == "passed" else b"") + b"ab" * 100
want = b"W" + want[1:]
assert os.fstat(other).st_size == len(want), os.fstat(other).st_size
os.ftruncate(other, len(want) - 2)
os.write(second, b"b")
want = want[:-2] + b"b"
assert os.pread(first, 1000, 0) == want, os.pread(first, 1000, 0)
assert open(path, "rb").read() == want
END

stack
mount_volfile "$VOL" --passthrough-append=on
[ -n "$(opens)" ] || skip "needs Linux 6.9 with FUSE passthrough"
expect_ok python3 append.py passed "$MNT/log" "$DAEMON"
expect "how many opens were passed" 4 "$(opens)"
unmount
rm "$BACK/log"
mount_volfile "$VOL"
expect_ok python3 append.py daemon "$MNT/log" "$DAEMON"
expect "how many opens were passed" 0 "$(opens)"
unmount
