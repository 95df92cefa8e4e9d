#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A translator that answers twice, or never, is named in the log; the mount goes on, and still ends.
# builds: debug
. "$(dirname "$0")/../lib.sh"

stack test/twice
mount_volfile "$VOL"
ln -s target "$MNT/link"
for _ in 1 2 3; do
    expect_error 'Input/output error' readlink -v "$MNT/link"
done
echo works >"$MNT/file"
expect "what is read" works "$(cat "$MNT/file")"
unmount
said="translator 'twice-1' (test/twice) answered readlink twice,"
said="$said before at .*twice.c:[0-9]* (twice_readlink)"
expect "the misuses in the log" 3 "$(grep -c "C \[.*$said; the second answer is dropped" "$LOG")"

# stat of the file system never comes back.
rm "$LOG"
stack test/never encryption/rot-13
mount_volfile "$VOL"
echo works >"$MNT/file"
df "$MNT" >df 2>&1 &
asker=$!
wait_until '"$WINDLASS" inflight "$MNT" | grep -q ": statfs"'
expect "what is read" works "$(cat "$MNT/file")"
kill -TERM "$DAEMON"
wait_until "! is_running $DAEMON"
wait $asker && fail "df was answered"
! is_mounted || fail "it is still mounted"
expect_match "the log" 'W \[.*a request is left unanswered' "$(cat "$LOG")"
expect_match "the log" "statfs at 'never-1' \\(test/never\\), wound by" "$(cat "$LOG")"
expect "what is in the directory" jbexf "$(cat "$BACK/file")"
expect_match "the log's end" 'gone with requests unanswered' "$(tail -n 2 "$LOG")"
DAEMON=''
