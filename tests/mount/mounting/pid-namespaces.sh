#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A daemon in another pid namespace than its callers cannot learn their supplementary groups: the
# mount and the first such request warn. With Linux 6.3 callers can still make objects in a
# directory of their group that all may search. A /proc that belongs to another namespace is not
# asked.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv unshare
mkdir shared
mount --bind shared shared
mount --make-shared shared
MNT=$TEST_DIR/shared/mnt
mkdir "$MNT" "$BACK/team" "$BACK/closed"
chgrp 3000 "$BACK/team" "$BACK/closed"
chmod 2775 "$BACK/team"
chmod 2770 "$BACK/closed"
echo ours >"$BACK/team/file"
chmod 640 "$BACK/team/file"
stack

member () {
    setpriv --reuid 1001 --regid 2001 --groups 3000,3001 "$@"
}
stranger () {
    setpriv --reuid 1001 --regid 2001 --groups 3001 "$@"
}

# start PROC [OPTION...]: a daemon in a pid namespace of its own; PROC: own or outer.
start () {
    local proc='mount -t proc none /proc &&'
    [ "$1" = own ] || proc=
    shift
    : >"$LOG"
    unshare --mount --propagation unchanged --pid --fork sh -c "
        mount --make-private / && $proc exec \"\$@\"" sh "$WINDLASS" -N -f "$VOL" -l "$LOG" \
        --passthrough=off "$@" "$MNT" >/dev/null 2>&1 &
    DAEMON=$!
    wait_until "grep -q \"' is mounted\" '$LOG'"
}

start own
expect_match "at the mount" "pid namespace.*windlass\(1\)" "$(cat "$LOG")"
expect_error 'Permission denied' member cat "$MNT/team/file"
expect_match "at the request" "uid 1001 is in another pid namespace" "$(cat "$LOG")"
expect_error 'Permission denied' member cat "$MNT/team/file"
expect "warned once" 1 "$(grep -c 'uid 1001 is in another' "$LOG")"
expect_error 'Permission denied' stranger touch "$MNT/team/strange"
printf '%s\n6.3\n' "$(uname -r)" | sort -VC && skip "passed, but creation: needs Linux 6.3"
expect_ok member touch "$MNT/team/new"
expect_ok member mkdir "$MNT/team/dir"
expect_ok member ln -s target "$MNT/team/link"
expect_ok member mkfifo "$MNT/team/fifo"
expect "owners" "1001 3000" "$(stat -c '%u %g' "$BACK/team/new")"
expect_error 'Permission denied' member touch "$MNT/closed/new"
expect "nothing else" "dir fifo file link new" "$(ls "$BACK/team" | xargs)"
unmount

# With the outer /proc the daemon would read the groups of other processes, by numbers that are
# theirs. It asks for none, and still takes the group that the kernel sends.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 # it looks for threads in /proc
start outer
expect_match "at the mount" "/proc is missing, or is that of another" "$(cat "$LOG")"
expect_error 'Permission denied' member cat "$MNT/team/file"
expect_ok member touch "$MNT/team/newer"
unmount

# No warning where callers are in the daemon's namespaces, or cannot reach the mount.
MNT=$TEST_DIR/mnt
start own
expect_no_match "a mount of the namespace alone" "pid namespace" "$(cat "$LOG")"
kill "$(pgrep -P $DAEMON)"
wait $DAEMON
: >"$LOG"
mount_volfile "$VOL"
expect "with the caller's groups" ours "$(member cat "$MNT/team/file")"
expect_no_match "a usual mount" "pid namespace" "$(cat "$LOG")"
unmount
