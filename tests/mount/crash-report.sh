#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A crash leaves a report in the log: which requests were pending and where, and where it happened.
# builds: release only
. "$(dirname "$0")/lib.sh"
ulimit -c 0

# report: the last one, whose end has come.
report () {
    wait_until "! is_running $DAEMON"
    sed -n '/^pending frames:$/,/^---------$/p' "$LOG"
}

stack test/oops
mount_volfile "$VOL"
expect_ok mkdir "$MNT/fine"
expect_error "$DAEMON_GONE" mkdir "$MNT/oops"
said=$(report)
expect_match "pending frames" '^frame : type\(1\) op\(MKDIR\) unique\([0-9]+\) at\(oops-1\)$' \
    "$said"
expect_match "what it was about" '^  path: /oops$' "$said"
expect_match "the way" \
    '^  1: oops-1 \(test/oops\) MKDIR from .*src/fuse/[a-z/]+\.c:[0-9]+ \(mkdir_wind\)$' "$said"
expect_match "the signal" '^signal received: 11$' "$said"
expect_match "when" '^time of crash:$' "$said"
expect_match "what crashed" '^package-string: windlass [0-9]' "$said"
expect_match "the backtrace" 'oops\.so.*\[0x[0-9a-f]+\]' "$said"
expect_match "its end" '^---------$' "$said"
umount -l "$MNT" 2>/dev/null || fusermount3 -uz "$MNT"

# Idle: no frames, but a report.
rm -f "$LOG" pid
mount_volfile "$VOL"
wait_until '"$WINDLASS" counts "$MNT" | grep -qx requests=0'
kill -SEGV "$DAEMON"
said=$(report)
expect_no_match "pending frames" '^frame' "$said"
expect_match "the signal" '^signal received: 11$' "$said"
