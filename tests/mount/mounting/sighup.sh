#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# SIGHUP opens the log's file anew, and SIGUSR1 writes what goes on to a file.
# builds: debug
. "$(dirname "$0")/../lib.sh"

stack encryption/rot-13
mount_volfile "$VOL" -L DEBUG
mv "$LOG" "$LOG.1"
expect_match "the log of a command that has returned" " I .*'$MNT' is mounted\$" "$(cat "$LOG.1")"
kill -HUP "$DAEMON"
wait_until "[ -e '$LOG' ]"
kill -USR1 "$DAEMON"
wait_until "grep -q 'state dumped to' '$LOG'"
dump=$(sed -n "s/.*state dumped to '\(.*\)'.*/\1/p" "$LOG")
expect "the dump's mode" 600 "$(stat -c %a "$dump")"
for line in '^DUMP-START-TIME: 20' '^\[global.callpool\]$' '^\[xlator.storage.posix.posix.priv\]$' \
    "^directory=$BACK\$" \
    '^\[xlator.encryption.rot-13.rot-13-1.priv\]$' '^DUMP-END-TIME: 20'; do
    expect_match "the dump" "$line" "$(cat "$dump")"
done
rm "$dump"

# A log that can't be opened anew stays as it is.
mv "$LOG" "$LOG.2"
mkdir "$LOG"
kill -HUP "$DAEMON"
wait_until "grep -q \"can't reopen the log\" '$LOG.2'"
rmdir "$LOG"
echo works >"$MNT/file"
expect "what is read" works "$(cat "$MNT/file")"
unmount
expect_match "the log" 'was unmounted, shutting down' "$(cat "$LOG.2")"
