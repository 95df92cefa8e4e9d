#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a user mounts is seen by nobody else, not even by root, whatever the modes of its files; no setuid program or device works in
# it; root's is everybody's unless it is said to be root's alone; and a user can have it seen by others only where the administrator lets him.
. "$(dirname "$0")/lib.sh"
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
user env "HOME=$TEST_DIR" "$WINDLASS" -f "$VOL" -l logs/log -p logs/pid "$MNT" || fail "a user can't mount: $(cat logs/log)"
DAEMON=$(cat logs/pid)
expect "what he reads" text "$(as 65534 cat "$MNT/file")"
for who in 0 1001; do
    for act in "ls '$MNT'" "cat '$MNT/file'" "stat '$MNT/file'" "touch '$MNT/new'" "rm '$MNT/file'" "cd '$MNT'" "df '$MNT/file'"; do
        expect_match "$act by $who" 'Permission denied' "$(as $who bash -c "$act")"
    done
done
expect_match "the options of the mount" 'nosuid,nodev' "$(awk -v at="$MNT" '$5 == at { print $6 }' /proc/self/mountinfo)"
expect "who a setuid program runs as" 65534 "$(as 65534 "$MNT/id" -u)"

# Nor through its daemon.
expect_match "its open files" 'Permission denied' "$(as 1001 ls "/proc/$DAEMON/fd")"
expect "modes of its log" 600 "$(stat -c %a logs/log)"
as 65534 fusermount3 -u "$MNT"
wait_until "! is_running $DAEMON"
DAEMON=''
grep -qs '^user_allow_other' /etc/fuse.conf && exit 0
expect_error 'allow_other.*user_allow_other' user env "HOME=$TEST_DIR" "$WINDLASS" -f "$VOL" -l logs/log -o allow_other "$MNT"
