#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `windlass tell --all - reopen-log` opens the logs again by their names, also with the daemon's
# confinement, and reads no volfile. The snippet for logrotate does so.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"
need_root
need_command logrotate

snippet=$BUILD_DIR/systemd/logrotate/windlass
mkdir logs second
sed "s|/var/log/windlass|$PWD/logs|; s|[^ ]*/bin/windlass |$WINDLASS |g; s|>/dev/null|>>$PWD/told|" \
    "$snippet" >conf
LOG=$PWD/logs/first.log
stack encryption/rot-13
mount_volfile "$VOL" --confine=auto
first=$DAEMON
MNT=$PWD/second LOG=$PWD/logs/second.log TEST_DIR=$PWD/second.d
mkdir "$TEST_DIR"
mount_volfile "$VOL" -L TRACE # on a folder of its own
DAEMON2=$DAEMON DAEMON=$first TEST_DIR=${TEST_DIR%/*} MNT=${MNT%/second}/mnt LOG=$PWD/logs/first.log

# A volfile that would not be taken, which SIGHUP would tell of.
echo nonsense >"$VOL"
expect_ok logrotate --force --state "$PWD/state" conf
expect "what each daemon says" "$MNT: the log is the file '$LOG'
$PWD/second: the log is the file '$PWD/logs/second.log'" "$(sort told)"
expect_match "the old log" "'$MNT' is mounted\$" "$(cat "$LOG.1")"
expect "the new log: no reload" '' "$(cat "$LOG")"
kill -USR1 "$DAEMON"
wait_until "grep -q 'state dumped to' '$LOG'"
expect_no_match "the old log" 'state dumped' "$(cat "$LOG.1")"
[ ! -e second/asked ] # the kernel keeps attributes, but has not asked for this name
expect_match "the log of the second" ' T \[' "$(cat logs/second.log)"

# A log that can't be opened stays; the others are opened.
mv "$LOG" old
mkdir "$LOG"
mv logs/second.log second.old
expect_error "^$MNT: the log '$LOG' can't be opened: Is a directory; the old one stays" \
    "$WINDLASS" tell --all - reopen-log
[ -e logs/second.log ] || fail "the other log was not opened"
expect_match "the old log" "can't be opened: Is a directory" "$(cat old)"
rmdir "$LOG"
expect "one mount" "the log is the file '$LOG'" "$("$WINDLASS" tell "$MNT" - reopen-log)"
expect_error "a target and a command are wanted" "$WINDLASS" tell --all
expect_error "^$PWD/second: the daemon has no command 'nonsense'" "$WINDLASS" tell --all - nonsense

# A stopped daemon is named at once, and the other one is asked.
mv logs/second.log second.old
kill -STOP "$DAEMON"
wait_until 'grep -q "^State:.T" "/proc/$DAEMON/status"'
expect_error "^$MNT: the daemon of '$MNT', process $DAEMON, is stopped; 'kill -CONT $DAEMON' lets" \
    timeout 10 "$WINDLASS" tell --all - reopen-log
[ -e logs/second.log ] || fail "the log of the other daemon was not opened"
kill -CONT "$DAEMON"

# Another user's daemons are not asked: root's are none of theirs.
expect "what another user tells" '' "$(user "$WINDLASS" tell --all - reopen-log 2>&1)"
umount second || fail "can't unmount the second"
wait_until "! is_running $DAEMON2"
unmount
expect "with nothing mounted" '' "$("$WINDLASS" tell --all - reopen-log 2>&1)"
