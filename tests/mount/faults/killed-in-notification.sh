#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A daemon that is killed while it tells the kernel of a changed name waits there for the lock of a
# directory, which a caller holds that waits for the daemon: neither can end. The daemon knows of
# most such callers (trash/notices), but not of a rename that looks up its names. Mounting again
# ends both, and a crash ends both by itself; a daemon that lives is left alone.
# builds: debug
. "$(dirname "$0")/../lib.sh"
need_root
need_command fusermount3
need_mtab
abort_at_exit

waits_for_the_lock () {
    grep -qs '^State:[[:space:]]*D' /proc/"$DAEMON"/task/*/status
}

# locked [COMMAND...]: mounts through the command, and returns when the daemon waits for the lock of
# a directory, which $caller holds.
locked () {
    rm -rf "${BACK:?}"/* pid
    mkdir -m 777 "$BACK/a" "$BACK/d"
    touch "$BACK/a/file"
    "$@" "$WINDLASS" -f "$VOL" -l "$TEST_DIR/log" -p "$TEST_DIR/pid" --passthrough=off "$MNT" ||
        fail "not mounted"
    DAEMON=$(cat pid)
    "$@" ls "$MNT/a/none" "$MNT/d" &>ls.out
    expect_ok "$@" "$WINDLASS" fault "$MNT" - <<<$'lookup path /a/file -> hang\nstatfs -> hang'
    "$@" python3 -c "import os; os.rename ('$MNT/a/file', '$MNT/d/new')" 2>caller.err &
    caller=$!
    wait_until "$* '$WINDLASS' inflight '$MNT' | grep -qi lookup"
    touch "$BACK/d/changed"
    wait_until waits_for_the_lock
}

caller_ends () {
    wait_until 10 "! is_running $caller"
    wait "$caller"
    expect_match "what the caller is told" "$DAEMON_GONE" "$(cat caller.err)"
}

POSIX_OPTIONS="watch=inodes" stack debug/fault
chmod 777 "$BACK" "$MNT" "$TEST_DIR"
for who in '' user; do
    # shellcheck disable=SC2086
    locked $who
    kill -9 "$DAEMON"
    wait_until 'grep -q "^State:.*Z" "/proc/$DAEMON/status"'
    waits_for_the_lock || fail "the daemon does not hang"
    expect_error "was killed.*mount it again" $who timeout 10 "$WINDLASS" inflight "$MNT"
    rm -f pid
    out=$($who timeout 20 "$WINDLASS" -f "$VOL" -l "$TEST_DIR/log" -p "$TEST_DIR/pid" "$MNT" 2>&1) ||
        fail "it can't be mounted again: $out"
    expect_match "what is said" "notice: '$MNT' was still mounted .*, but its daemon is gone" "$out"
    caller_ends
    wait_until "[ ! -e /proc/$DAEMON ] || ! waits_for_the_lock"
    DAEMON=$(cat pid)
    expect "the directory" changed "$($who ls "$MNT/d")"
    unmount
    rm -f log
done

ulimit -c 0
locked
kill -SEGV "$DAEMON"
caller_ends
wait_until "! is_running $DAEMON"
expect_match "the report" '^signal received: 11$' "$(cat log)"
umount -l "$MNT"

# A daemon that lives, over a storage that does not answer.
locked
expect_error "mount point '$MNT' is already mounted .*does not answer" \
    timeout 30 "$WINDLASS" -f "$VOL" -l log2 "$MNT"
is_running "$caller" || fail "the caller was ended"
kill "$DAEMON"
wait_until 30 "! is_running $DAEMON"
wait_until 10 "! is_running $caller"
