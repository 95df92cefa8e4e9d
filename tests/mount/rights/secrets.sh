#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A password given on the command line is shown by no report, and not by ps(1) either; other options
# are.
. "$(dirname "$0")/../brick/lib.sh"

words_of () {
    tr '\0' ' ' <"/proc/$1/cmdline"
}

# Also while the volfile is not there yet.
brick one
brick_volfile one
mkfifo later
"$WINDLASS" -N -f "$TEST_DIR/later" -l "$LOG" -p "$TEST_DIR/pid" \
    --xlator-option 'one.password=open,sesame' --xlator-option=one.ping-timeout=17 \
    -o "ro,xlator-option=one.username=it,xlator-option=*.password=open\\,sesame,noatime" "$MNT" 2>err &
DAEMON=$!
wait_until "words_of $DAEMON | grep -q 'password=\*'"
expect_no_match "the words of a daemon that waits" sesame "$(words_of "$DAEMON")"
cat "$VOL" >later
wait_until 'is_mounted && [ -s "$TEST_DIR/pid" ]'
words=$(words_of "$DAEMON")
expect_match "the words of the daemon" '--xlator-option one.password=\*{11} ' "$words"
expect_match "what is no secret" '--xlator-option=one.ping-timeout=17 -o ro,' "$words"
expect_match "mount options" 'ro,xlator-option=one.username=it,.*\*.password=\*{12},noatime ' "$words"
expect "the value in force" 17 "$(cat "$MNT/.meta/graphs/active/one/options/ping-timeout")"
expect_match "the log" 'cmdlinestr=.*ping-timeout=17' "$(cat "$LOG")"
expect_match "cmdline of .meta" 'ping-timeout=17' "$(cat "$MNT/.meta/cmdline")"

kill -USR1 "$DAEMON"
wait_until "grep -q 'state dumped' '$LOG'"
dump=$(sed -n "s/.*state dumped to '\(.*\)'.*/\1/p" "$LOG")
kill -ABRT "$DAEMON"
wait_until "! is_running $DAEMON"
expect_match "the crash report" 'signal' "$(cat "$LOG")"
expect_no_match "log, crash report, dump" sesame "$(cat "$LOG" err "$dump")"
rm "$dump"
umount -l "$MNT"
expect_error "'other.password=\.\.\.': no volume of the graph is called 'other'" \
    "$WINDLASS" -f "$VOL" --xlator-option other.password=sesame "$MNT"
"$WINDLASS" -f "$VOL" --xlator-option other.password=sesame "$MNT" 2>err
expect_no_match "what is said of a volume that is not there" sesame "$(cat err)"
