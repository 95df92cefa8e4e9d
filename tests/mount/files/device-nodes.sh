#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Device files in a mount work only if root said -o dev; only root makes them; and a pipe is the
# kernel's.
# builds: debug
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv

mkdir bare
mknod -m 666 bare/zero c 1 5 2>/dev/null && head -c 1 bare/zero >/dev/null 2>&1 ||
    skip "needs device files on the file system of $TEST_DIR"
stack
mount_volfile "$VOL"
chmod 777 "$BACK"
expect_ok mknod -m 666 "$MNT/zero" c 1 5
expect "it is one" "1:5 character special file" "$(stat -c '%Hr:%Lr %F' "$BACK/zero")"
expect_error 'Operation not permitted' setpriv --reuid 1001 --regid 1001 --clear-groups mknod \
    "$MNT/other" c 1 5
expect_error 'Permission denied' head -c 1 "$MNT/zero"

# The daemon would wait in vain for a process at its other end.
mkfifo "$MNT/pipe"
timeout 20 cat "$MNT/pipe" >got &
echo through >"$MNT/pipe"
wait $!
expect "what went through a pipe" through "$(cat got)"
unmount

mount_volfile "$VOL" -o dev
expect "zeros with -o dev" 1 "$(head -c 1 "$MNT/zero" | wc -c)"
