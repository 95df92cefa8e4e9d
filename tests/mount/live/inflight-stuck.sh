#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass inflight and the watchdog, on a mount whose storage is a file system that hangs: the
# system call of each thread is named, with more of them stuck than the mount has threads for
# requests.
# builds: tsan debug
. "$(dirname "$0")/../lib.sh"

need_root
below=$TEST_DIR/below
lower=$TEST_DIR/lower
mkdir "$below" "$lower"
for i in {1..8}; do echo $i >"$below/file$i"; done

# Below is another mount, in which opens hang; above it the one that is asked, with four threads.
printf 'volume p\n type storage/posix\n option directory "%s"\nend-volume
volume f\n type debug/fault\n subvolumes p\nend-volume\n' \
    "$below" >lower.vol
"$WINDLASS" -f lower.vol -l lower.log -p lower.pid "$lower" || fail "the lower mount"
BACK=$lower stack encryption/rot-13
mount_volfile "$VOL" --io-uring=off --reader-thread-count 4 --stuck-after 1
cat "$MNT"/file? >/dev/null
echo 'open -> hang' >rules
expect_ok "$WINDLASS" fault "$lower" rules
for i in {1..6}; do cat "$MNT/file$i" >/dev/null 2>&1 & done
wait_until '[ "$("$WINDLASS" inflight "$MNT" --older 1s | grep -c "waits for: the system call openat on .*/lower/file[1-6] (thread \(fuse\|work\)-[0-9]*, [0-9]*")" = 6 ]'
said=$("$WINDLASS" inflight "$MNT")
expect_match "the path" '^request [0-9]+: open of /file[1-6], for' "$said"
expect_match "where" "now at:    'posix' \(storage/posix\), asked for open by bridge_open_wind" "$said"
expect_match "the way" 'way:       fuse -> posix$' "$said"
wait_until '[ "$(grep -c "no answer for .* s, process cat ([0-9]*): .posix. waits for the system call openat on .*: request [0-9]* open /file[1-6] uid=0" "$LOG")" = 6 ]'
expect "each is logged once" 6 "$(grep -c 'no answer for .* open /file' "$LOG")"
expect_ok "$WINDLASS" fault "$lower" --clear
wait
expect "all is answered" "no request waits" "$("$WINDLASS" inflight "$MNT")"
unmount
daemon=$(cat lower.pid)
kill "$daemon"
wait_until "! is_running $daemon"
