#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# mount.windlass, as mount(8) calls it for fstab.
. "$(dirname "$0")/lib.sh"
need_root
helper=$BUILD_DIR/src/mount.windlass
[ -e "$helper" ] || helper=$(find "$BUILD_DIR" -name mount.windlass | head -n 1)
[ -n "$helper" ] || fail "mount.windlass was not built"
export WINDLASS

stack encryption/rot-13
echo uryyb >"$BACK/file"
expect_ok sh "$helper" "$VOL" "$MNT" \
    -o "rw,_netdev,nofail,x-systemd.requires=a.service,log-file=$LOG,pid-file=$TEST_DIR/pid"
is_mounted || fail "it came back, but isn't mounted"
DAEMON=$(cat pid)
expect "what is read" hello "$(cat "$MNT/file")"
expect_no_match "the options" 'nosuid|nodev' \
    "$(awk -v at="$MNT" '$5 == at { print $6 }' /proc/self/mountinfo)"
unmount

expect_ok sh "$helper" "$VOL" "$MNT" -s -n -o "ro,user,log-file=$LOG,pid-file=$TEST_DIR/pid"
DAEMON=$(cat pid)
expect_error 'Read-only' touch "$MNT/new"
unmount
expect_error 'no mount option' sh "$helper" "$VOL" "$MNT" -o nonsense
expect_error 'does not exist' sh "$helper" "$VOL" missing
expect_error 'usage' sh "$helper" "$VOL"
expect_match "a fake mount" "$VOL.*$MNT" "$(sh "$helper" "$VOL" "$MNT" -fv)"
! is_mounted || fail "it is mounted, although that was fake"

# Made read-only and back, also where mount(8) would use calls that FUSE refuses.
expect_ok sh "$helper" "$VOL" "$MNT" -o "log-file=$LOG,pid-file=$TEST_DIR/pid"
DAEMON=$(cat pid)
options () {
    awk -v at="$MNT" '$5 == at { print $6, $NF }' /proc/self/mountinfo
}
expect_ok sh "$helper" "$VOL" "$MNT" -o remount,ro
expect_match "read-only" '^ro,.* ro,' "$(options)"
expect_error 'Read-only' touch "$MNT/new"
expect_ok sh "$helper" "$VOL" "$MNT" -o remount,rw,nosuid,allow_other # the last is as it was
expect_match "writable again" '^rw,nosuid,.* rw,' "$(options)"
expect_ok touch "$MNT/new"
expect_error "remount can't change 'attribute-timeout=5' of '$MNT'" sh "$helper" "$VOL" "$MNT" \
    -o remount,ro,attribute-timeout=5
expect_match "after a remount that was refused" '^rw,' "$(options)"
unmount

# By mount(8) itself, where /sbin may have one more file in a mount namespace of its own.
need_command unshare mount findmnt
cat >in-namespace <<END
mkdir -p upper work
mount -t tmpfs none work && mkdir work/u work/w &&
mount -t overlay -o lowerdir=/sbin,upperdir=work/u,workdir=work/w none /sbin &&
printf '#!/bin/sh\nWINDLASS=$WINDLASS exec sh $helper "\$@"\n' >/sbin/mount.windlass &&
chmod +x /sbin/mount.windlass &&
ln -s mount.windlass /sbin/mount.fuse.windlass || exit 77
mount -t windlass -o log-file=$LOG,pid-file=$TEST_DIR/pid "$VOL" "$MNT" || exit 1
cat "$MNT/file" && findmnt -no FSTYPE,SOURCE "$MNT" || exit 1
mount -o remount,ro "$MNT" || exit 1
! touch "$MNT/refused" 2>/dev/null && mount -o remount,rw "$MNT" && touch "$MNT/done" &&
umount "$MNT"
END
# Where the root is no mount of its own, as under chroot, there is none to be had.
unshare -m --propagation slave true 2>/dev/null ||
    skip "needs a mount namespace with propagation of its own"
out=$(unshare -m --propagation slave sh in-namespace 2>&1)
status=$?
[ $status != 77 ] || skip "needs a mount namespace with an overlay over /sbin: $out"
expect "by mount(8)" "0 hello fuse.windlass $VOL" \
    "$status $(tr -s '\n ' ' ' <<<"$out" | sed 's/ $//')"
