#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit with when-full block at the end of a mount: an unmount says that the mount is in
# use, SIGTERM lets the call go that waits, the daemon tells what is lost, and the next one goes on
# in the file.
# builds: release
. "$(dirname "$0")/../lib.sh"

need_root
need_command jq
mkdir records
mount -t tmpfs -o size=64k tmpfs records || skip "needs mount"
LOGFILE=$TEST_DIR/records/audit.log
echo 'mkdir -> record' >rules
stack "features/audit,log-directory=$TEST_DIR/records,when-full=block,rules=$TEST_DIR/rules"
mount_volfile "$VOL"
dd if=/dev/zero of=records/filler bs=512 2>/dev/null
# The file of the log has some room in its last page.
for i in {1..60}; do
    mkdir "$MNT/dir$i" &
    caller=$!
    wait_until "[ ! -d /proc/$caller ] || '$WINDLASS' inflight '$MNT' | grep -q when-full"
    [ ! -d /proc/$caller ] || break
done
[ -d /proc/$caller ] || fail "the disk is full, and no call waits"
[ ! -e "$BACK/dir$i" ] || fail "it was not held back"
expect_error 'is in use' "$WINDLASS" umount "$MNT"
kill -TERM "$DAEMON"
wait $caller || fail "the call that waited failed"
[ -d "$BACK/dir$i" ] || fail "the call that waited was not done"
wait_until "[ ! -d /proc/$DAEMON ]"
expect_match "what is lost" "'audit.log' ends full: No space left on device; [1-3] records" \
    "$(cat "$LOG")"
rm records/filler
mount_volfile "$VOL"
mkdir "$MNT/last"
expect "the log goes on" /last "$(grep -a '}$' "$LOGFILE" | jq -r 'select (.operation) | .path' |
    tail -n 1)"
unmount
