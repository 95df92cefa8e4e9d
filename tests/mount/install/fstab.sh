#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Lines of fstab and mount(8) itself, by root and by a user whom the line lets mount.
. "$(dirname "$0")/../lib.sh"
need_root
need_fuse
need_command mount umount findmnt fusermount3

# In this mount namespace mount(8) finds the helper of the build, and a fstab of this test.
mkdir over && mount -t tmpfs none over && mkdir over/upper over/work &&
    mount -t overlay -o "lowerdir=$(realpath /sbin),upperdir=over/upper,workdir=over/work" none \
        "$(realpath /sbin)" || skip "needs overlayfs over /sbin"
printf '#!/bin/sh\nWINDLASS=%s exec sh %s "$@"\n' "$WINDLASS" "$BUILD_DIR/src/mount.windlass" \
    >/sbin/mount.windlass
chmod +x /sbin/mount.windlass
ln -sf mount.windlass /sbin/mount.fuse.windlass
touch fstab
mount --bind fstab /etc/fstab

# line OPTIONS [VOLFILE]: is the only one of fstab.
line () {
    echo "${2-$VOL} $MNT windlass $1,pid-file=$PWD/run/pid 0 0" >fstab
}

# expect_status STATUS REGEX COMMAND...: exits with it, and says what matches.
expect_status () {
    local status=$1 regex=$2 out
    shift 2
    out=$("$@" 2>&1)
    expect "exit status of $*, which said '$out'" "$status" $?
    expect_match "what $* says" "$regex" "$out"
}

ends () {
    "$@" || fail "can't unmount: $*"
    wait_until "! is_running $DAEMON"
    DAEMON=''
}

stack encryption/rot-13
echo uryyb >"$BACK/file"
mkdir -m 777 run
chown 65534 "$BACK"
ours=log-file=$PWD/run/log

# --- root ---

line "noauto,x-systemd.automount,comment=x,$ours"
expect_status 0 '^$' mount -a
! is_mounted || fail "mount -a took a line with noauto"
line "defaults,$ours"
expect_status 0 '^$' mount -a
DAEMON=$(cat run/pid)
expect "by mount(8)" "hello fuse.windlass $VOL" \
    "$(cat "$MNT/file") $(findmnt -no FSTYPE,SOURCE "$MNT" | tr -s ' ')"
expect_status 0 '^$' mount -a
expect "mounts after mount -a twice" 1 "$(findmnt -no TARGET "$MNT" | wc -l)"
expect_status 0 '^$' mount -o remount,ro "$MNT"
expect_error 'Read-only' touch "$MNT/new"
expect_status 0 '^$' mount -o remount,rw "$MNT"
expect_ok touch "$MNT/new"
expect_status 1 "can't change 'attribute-timeout=5'" mount -o remount,attribute-timeout=5 "$MNT"
ends umount "$VOL"
line "nofail,$ours" "$PWD/missing.vol"
expect_status 0 '^$' mount -a
expect_status 0 '^$' mount "$MNT"
line "defaults,$ours" "$PWD/missing.vol"
expect_status 32 "can't be read" mount "$MNT"
expect_status 32 "can't be read" mount -a
line "defaults,nonsense,$ours"
expect_status 1 'no mount option' mount "$MNT"

# --- a user ---

rm run/log
line "noauto,user,$ours"
expect_status 32 'no write access to mount' user mount "$MNT"
chown 65534 "$MNT"
expect_status 0 '^$' user mount "$MNT"
DAEMON=$(cat run/pid)
expect "who runs the daemon, and whose is the log" '65534 65534' \
    "$(stat -c %u "/proc/$DAEMON" run/log | xargs)"
expect_match "its options" 'nosuid,nodev,noexec.*user_id=65534' "$(findmnt -no OPTIONS "$MNT")"
expect "what the user reads" hello "$(user cat "$MNT/file")"
expect_error 'Permission denied' cat "$MNT/file" # root is another user
ends user umount "$MNT"
line "noauto,user,log-file=$PWD/log-of-root"
touch log-of-root
expect_status 32 "log-of-root': Permission denied" user mount "$MNT"
chmod 700 "$BACK"
chown 0 "$BACK"
line "noauto,user,$ours"
expect_status 32 'user 65534 may read' user mount "$MNT"
