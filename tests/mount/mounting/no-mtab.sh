#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Without /etc/mtab, as in a small container, fusermount3 can't unmount for a user: the mount says
# so, and so do the end of its daemon and the next mount after a daemon that was killed.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"
need_root
let_users_mount

# In this mount namespace there is none.
mkdir over && mount -t tmpfs none over && mkdir over/upper over/work &&
    mount -t overlay -o lowerdir=/etc,upperdir=over/upper,workdir=over/work none /etc ||
    skip "needs overlayfs over /etc"
rm -f /etc/mtab

as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$TEST_DIR")
chown 65534:65534 "$BACK" "$MNT"
mkdir -m 777 logs
LOG=logs/log
cause="/etc/mtab is not there.*as root, 'ln -s /proc/self/mounts /etc/mtab'"
stack

mounts () {
    "${as_user[@]}" "$WINDLASS" -f "$VOL" -l "$LOG" -p logs/pid "$MNT" >out 2>&1 ||
        fail "a user can't mount: $(cat out)"
    DAEMON=$(cat logs/pid)
}
mounts
expect_match "what the mount says" "$cause.*'umount $MNT' does" "$(cat out)"
expect_error mtab "${as_user[@]}" fusermount3 -u "$MNT"
kill "$DAEMON"
wait_until "! is_running $DAEMON"
expect_match "what the daemon says at its end" "can't unmount '$MNT': $cause.*; 'umount $MNT' does" \
    "$(cat "$LOG")"
expect_ok "${as_user[@]}" umount "$MNT"

mounts
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
expect_error "its daemon is gone, and it can't be unmounted: $cause" \
    "${as_user[@]}" "$WINDLASS" -f "$VOL" -l "$LOG" "$MNT"
expect_ok umount "$MNT"
DAEMON=''
"$WINDLASS" -f "$VOL" -l - -p logs/pid-of-root "$MNT" >out 2>&1 || fail "root can't mount"
DAEMON=$(cat logs/pid-of-root)
expect_no_match "what is said to root" /etc/mtab "$(cat out)"
unmount
