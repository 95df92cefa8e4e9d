#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Logs, state dumps and core dumps can be read by their owner alone, and names laid out by other
# users lead the daemon nowhere.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv

# mount_and_unmount LOG: the exit status, and what it said.
attempt () {
    timeout 20 "$WINDLASS" -f "$VOL" -l "$1" -p "$TEST_DIR/pid" "$MNT" 2>&1
    echo "status $?"
    ! is_mounted || umount "$MNT"
    wait_until "! [ -e '$TEST_DIR/pid' ]"
}
as () {
    setpriv --reuid 1001 --regid 1001 --clear-groups "$@"
}

umask 000
stack
# A folder such as /tmp, without what the kernel does for a sticky one.
mkdir -m 777 public
echo precious >victim
chmod 600 victim
as ln -s ../victim public/link
as sh -c ': >public/theirs; chmod 666 public/theirs; mkfifo public/fifo'
ln victim public/second # as a user may, where the kernel protects no hard links
for name in link theirs fifo second; do
    expect_match "a log that is another's $name" \
        "log file '.*public/$name': it must not be another user's file or link, nor have a second name" \
        "$(attempt "public/$name")"
    expect_error \
        "pid file '.*public/$name': it must not be another user's file or link, nor have a second name" \
        "$WINDLASS" -f "$VOL" -l "$LOG" -p "public/$name" "$MNT"
done
expect "what the links lead to" precious "$(cat victim)"
: >pid # for all to write to
mount_volfile "$VOL"
expect "who may write to the pid file" 644 "$(stat -c %a pid)"
unmount
: >elsewhere
chown 1001 elsewhere
ln -s "$TEST_DIR/elsewhere" own-link
expect "a log that is a link of root's" "status 0" "$(attempt own-link)"
[ -s elsewhere ] || fail "nothing was logged through a link of root's"

# Made anew, whatever the umask.
mount_volfile "$VOL"
expect "the mode of a log" 600 "$(stat -c %a "$LOG")"
kill -USR1 "$DAEMON"
wait_until "grep -q 'state dumped' '$LOG'"
dump=$(sed -n "s/.*state dumped to '\(.*\)'.*/\1/p" "$LOG")
expect "the mode of a state dump" "600 0" "$(stat -c '%a %u' "$dump")"
expect "its folder is root's, and closed to others" "0 0" \
    "$(stat -c %u "${dump%/*}") $((0$(stat -c %a "${dump%/*}") & 022))"
rm -f "$dump"
kill -HUP "$DAEMON"
rm "$LOG"
kill -HUP "$DAEMON"
wait_until "[ -e '$LOG' ]"
expect "the mode of a new log" 600 "$(stat -c %a "$LOG")"
unmount

# A thread crashes while it acts as a user: what is in memory is everybody's.
[ "$(cat /proc/sys/kernel/core_pattern)" = core ] && (ulimit -c unlimited) 2>/dev/null || exit 0
ulimit -c unlimited
stack test/oops
chmod 777 "$BACK"
mkdir -m 777 cores
(cd cores && exec "$WINDLASS" -N -f "$VOL" -l "$LOG" -p "$TEST_DIR/pid" "$MNT") >/dev/null 2>&1 &
wait_until 'is_mounted && [ -s "$TEST_DIR/pid" ]'
DAEMON=$(cat pid)
as mkdir "$MNT/as-user" || fail "can't make a folder"
as mkdir "$MNT/oops" 2>/dev/null
wait_until "! is_running $DAEMON"
expect_match "the core dump's owner and mode" '^0 600$' "$(stat -c '%u %a' cores/core*)"
