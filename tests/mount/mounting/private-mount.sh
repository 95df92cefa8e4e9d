#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's mount is seen by no other user, not even by root, whatever the modes of its files; no
# setuid program or device works in it. Root's mount is open to all users unless an option closes
# it. A user can open a mount to others only where the administrator allows it.
. "$(dirname "$0")/../lib.sh"
let_users_mount
need_command setpriv

as () {
    setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}" 2>&1
}

chmod 755 "$TEST_DIR"
chown -R 65534:65534 "$BACK" "$MNT"
echo text >"$BACK/file"
chmod 666 "$BACK/file"
chmod 777 "$BACK"
cp "$(command -v id)" "$BACK/id"
chmod 6755 "$BACK/id"
stack
mount_volfile "$VOL" -o no_allow_other
expect "what root reads" text "$(cat "$MNT/file")"
expect_match "root's alone" 'Permission denied' "$(as 65534 cat "$MNT/file")"
unmount
mkdir -m 777 logs
user env "HOME=$TEST_DIR" "$WINDLASS" -f "$VOL" -l logs/log -p logs/pid "$MNT" ||
    fail "a user can't mount: $(cat logs/log)"
DAEMON=$(cat logs/pid)
expect "what he reads" text "$(as 65534 cat "$MNT/file")"
for who in 0 1001; do
    for act in "ls '$MNT'" "cat '$MNT/file'" "stat '$MNT/file'" "touch '$MNT/new'" \
        "rm '$MNT/file'" "cd '$MNT'" "df '$MNT/file'"; do
        expect_match "$act by $who" 'Permission denied' "$(as $who bash -c "$act")"
    done
done
expect_match "the options of the mount" 'nosuid,nodev' \
    "$(awk -v at="$MNT" '$5 == at { print $6 }' /proc/self/mountinfo)"
expect "who a setuid program runs as" 65534 "$(as 65534 "$MNT/id" -u)"

# Nor through its daemon.
expect_match "its open files" 'Permission denied' "$(as 1001 ls "/proc/$DAEMON/fd")"
expect "modes of its log" 600 "$(stat -c %a logs/log)"
as 65534 fusermount3 -u "$MNT"
wait_until "! is_running $DAEMON"
DAEMON=''

# A user's daemon that ends has fusermount3 unmount: normally, and lazily only where a file is still
# open.
mkdir bin
printf '#!/bin/sh\necho "$@" >>"%s"\nexec "%s" "$@"\n' "$TEST_DIR/logs/calls" \
    "$(command -v fusermount3)" >bin/fusermount3
chmod 755 bin bin/fusermount3
is_listed () { # root can't look at it
    grep -q " $MNT " /proc/self/mountinfo
}
ends () {
    user env "HOME=$TEST_DIR" "PATH=$TEST_DIR/bin:$PATH" "$WINDLASS" -N -f "$VOL" -l logs/log \
        -p logs/pid "$MNT" 2>logs/errors &
    wait_until "user '$WINDLASS' counts '$MNT' >/dev/null 2>&1"
    DAEMON=$(cat logs/pid)
    : >logs/calls
    chmod 666 logs/calls
}
ends
kill "$DAEMON"
wait
expect "what it asks fusermount3" "-uq -- $MNT" "$(cat logs/calls)"
expect "what fusermount3 says" "" "$(cat logs/errors)"
! is_listed || fail "it is still mounted"
ends
setpriv --reuid 65534 --regid 65534 --clear-groups \
    sh -c 'exec 7<"$1" && exec sleep 100' sh "$MNT/file" &
holder=$!
wait_until "ls -l /proc/$holder/fd/7 2>/dev/null | grep -q '$MNT/file'"
kill "$DAEMON"
wait_until "! is_running $DAEMON"
kill $holder
expect "what it asks of a busy one" "-uq -- $MNT -uqz -- $MNT" "$(paste -sd' ' logs/calls)"
! is_listed || fail "it is still mounted"
DAEMON=''

# What is refused after it was mounted is unmounted so too.
: >logs/calls
expect_no_match "passthrough that a user can't have" 'extra arguments' \
    "$(user env "HOME=$TEST_DIR" "PATH=$TEST_DIR/bin:$PATH" "$WINDLASS" -f "$VOL" -l logs/log \
    --passthrough=required "$MNT" 2>&1)"
expect "what it asks fusermount3 then" "-uq -- $MNT" "$(grep -e '-u' logs/calls)"
! is_listed || fail "it is mounted without passthrough"

grep -qs '^user_allow_other' /etc/fuse.conf && exit 0
expect_error \
    "can't mount .*allow_other.*user_allow_other.* root can add; without them it is mounted for you alone" \
    user env "HOME=$TEST_DIR" "$WINDLASS" -f "$VOL" -l logs/log -o allow_other "$MNT"
