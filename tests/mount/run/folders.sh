#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's daemon finds a folder for its socket, its dumps and a log in every environment: after su,
# without a home directory, and where others have made the names before it. Root finds its socket.
# Where no folder can be had, the terminal says so. The log does not grow for ever.
# builds: debug
# through: device
. "$(dirname "$0")/../lib.sh"

need_root
need_fuse
let_users_mount
need_command setpriv
theirs=/tmp/windlass-65534
chown 65534 "$BACK" "$MNT"
mkdir -m 700 home of-root
chown 65534 home
mkdir -m 755 closed-home
stack
chmod 644 "$VOL"
user test -x "$BUILD_DIR/src/windlass" || skip "needs a build that others may run"

# What users may leave in /tmp is not the next test's.
made=''
trap '[ -z "$made" ] || rm -rf "$made" "$theirs.zzzzzz" "$theirs.aaaaaa"; cleanup' EXIT

# as_user [NAME=VALUE...] COMMAND...: as one who came by su from root.
as_user () {
    user env HOME="$TEST_DIR/home" XDG_RUNTIME_DIR="$TEST_DIR/of-root" "$@"
}

# mounted [NAME=VALUE...]: mounts with a log of its own choice; what it says goes to `said`.
mounted () {
    as_user "$@" "$WINDLASS" -f "$VOL" -p "$TEST_DIR/home/pid" "$MNT" >said 2>&1 ||
        fail "it was not mounted: $(cat said)"
    DAEMON=$(cat home/pid)
}

# asked FOLDER: root and the user get an answer, through a socket in that folder.
asked () {
    expect "the process for root" "pid=$DAEMON" "$("$WINDLASS" counts "$MNT" | grep '^pid=')"
    expect "the process for the user" "pid=$DAEMON" \
        "$(as_user "$WINDLASS" counts "$MNT" | grep '^pid=')"
    expect "the folders with sockets" "$1" \
        "$(find "$theirs"* -maxdepth 1 -type s -printf '%h\n' 2>/dev/null)"
}

# After su the session's folder is another user's.
mounted
expect "what is said after su" "" "$(cat said)"
asked "$theirs"
kill -USR1 "$DAEMON"
wait_until 'ls "$theirs"/windlassdump.* >/dev/null 2>&1'
unmount

# Neither is a link of another user's to a folder of one's own.
ln -s home of-other
chown -h 1 of-other
mounted XDG_RUNTIME_DIR="$TEST_DIR/of-other"
asked "$theirs"
unmount

# Without a home directory the log is in the same folder.
for home in /nonexistent "$TEST_DIR/closed-home"; do
    mounted HOME="$home"
    expect_match "what is said with HOME=$home" \
        "notice: no log can be in the folder '$home/.local/state/windlass': Permission.*'$theirs'" \
        "$(cat said)"
    expect_match "the log with HOME=$home" "is mounted" "$(cat "$theirs"/*-mnt.log)"
    unmount
done

# A large log is set aside at the next mount; a smaller one goes on.
mounted
unmount
log=$(find home/.local/state/windlass -name '*-mnt.log')
truncate -s 17M "$log"
mounted
expect "the set aside log" 17825792 "$(stat -c %s "$log.1")"
expect_match "the new log" "is mounted" "$(cat "$log")"
unmount
mounted
unmount
expect "mounts in the new log" 2 "$(grep -c "is mounted" "$log")"
expect "the set aside log, later" 17825792 "$(stat -c %s "$log.1")"

# A mount point of a long path.
long=$MNT/$(printf '%0100d' 1)/$(printf '%0100d' 2)/$(printf '%0100d' 3)
mkdir -p "$long"
chown 65534 "$long"
point=$MNT
MNT=$long
mounted
logs=$(ls home/.local/state/windlass)
expect_match "the log of a long path" '^.*-mnt-0+1-0+2?-[0-9a-f]{16}\.log$' "$(tail -n 1 <<<"$logs")"
unmount
mkdir "$long.2"
chown 65534 "$long.2"
MNT=$long.2
mounted
unmount
expect "logs of two long paths" 2 "$(ls home/.local/state/windlass | grep -c '0001-')"
MNT=$point
rm -r "${MNT:?}"/*

# Another user has made the name, and a later one. The user's folder has a name of its own.
mount -t tmpfs -o mode=700,uid=1 other "$theirs"
made=none
mkdir -m 700 "$theirs.zzzzzz" "$theirs.aaaaaa"
chown 1 "$theirs.zzzzzz" "$theirs.aaaaaa"
mounted
expect "what is said with others' folders" "" "$(cat said)"
made=$(find /tmp -maxdepth 1 -name "windlass-65534.*" -uid 65534)
expect "folders of the user" 1 "$(wc -l <<<"$made")"
asked "$made"
unmount
mounted
asked "$made" # again
unmount
rm -r "$made"

# No folder at all: /tmp can't be written to.
mkdir room
mount -t tmpfs room room
mkdir -p "room/$TEST_DIR" room/tmp
mount --rbind "$TEST_DIR" "room/$TEST_DIR"
mount --rbind room/tmp /tmp 2>/dev/null || fail "can't replace /tmp"
mount -o remount,bind,ro /tmp
mounted
expect_match "what is said without any folder" \
    "warning: no control socket: .*'/tmp/windlass-65534.XXXXXX' can be made: Read-only.*will not work" \
    "$(cat said)"
expect_error "can't be reached: it is gone, or could not make its socket" "$WINDLASS" counts "$MNT"
unmount
as_user HOME=/nonexistent "$WINDLASS" -f "$VOL" "$MNT" >said 2>&1 && fail "it has no log"
expect_match "what is said without a log" \
    "no log can be in the folder '/nonexistent/.*': Permission denied; -l FILE names another log" \
    "$(cat said)"
