#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A dump of debug/io-stats for which there is no room: the setfattr fails, the log says why, the
# older dump is still there, and the mount goes on.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"
need_root
need_command setfattr
mount -t tmpfs -o size=64k,mode=700 none /run/windlass || skip "needs the right to mount"

stack debug/io-stats
mount_volfile "$VOL"
echo hello >"$MNT/file"
expect_ok setfattr -n trusted.io-stats-dump -v full "$MNT"
before=$(cat /run/windlass/full.io-stats-1)
head -c 1M /dev/zero >/run/windlass/room 2>/dev/null
expect_error 'No space left on device' setfattr -n trusted.io-stats-dump -v full "$MNT"
expect_match "the log" \
    "E \\[.*0-io-stats-1: can't dump to '/run/windlass/full.io-stats-1': No space left on device$" \
    "$(cat "$LOG")"
expect "the older one" "$before" "$(cat /run/windlass/full.io-stats-1)"
expect "no part of the new one" "" "$(find /run/windlass -name '.new*')"
expect "the mount" hello "$(cat "$MNT/file")"
rm /run/windlass/room
expect_ok setfattr -n trusted.io-stats-dump -v full "$MNT"

# Another user could put a file there: it is written to the next folder.
chmod 777 /run/windlass
rm /run/windlass/full.io-stats-1
mkdir -p -m 700 /tmp/windlass-0
mount -t tmpfs -o mode=700 run /tmp/windlass-0
expect_ok setfattr -n trusted.io-stats-dump -v full "$MNT"
expect "the file" "/tmp/windlass-0/full.io-stats-1" \
    "$(ls -d /run/windlass/full* /tmp/windlass-0/full* 2>/dev/null)"
chmod 700 /run/windlass
unmount
