#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A folder on the way to a mount point becomes a link to another folder while root unmounts: no
# other mount is unmounted, neither before nor after the look at what is mounted there.
# through: device
. "$(dirname "$0")/../lib.sh"

need_root
need_command gdb

# swapped_at COMMAND...: `windlass umount` with way/mnt, where way is swapped when gdb has stopped
# at what COMMAND names.
swapped_at () {
    mkdir -p way/mnt other/mnt
    mount -t tmpfs other other/mnt
    mount_volfile "$VOL"
    timeout 100 gdb -batch -nx -ex 'set follow-fork-mode child' -ex "$*" -ex run \
        -ex 'shell mv way moved && ln -s other way && touch swapped' -ex continue \
        --args "$BUILD_DIR/src/windlass" umount "$MNT" >said 2>&1
    [ -e swapped ] || fail "gdb did not stop: $(cat said)"
    mountpoint -q other/mnt || fail "the other mount was unmounted"
}

# back: everything is in its place again.
back () {
    umount -l moved/mnt 2>/dev/null
    umount other/mnt
    rm -r way swapped
    mv moved way
    wait_until "! is_running $DAEMON"
}

stack
MNT=$TEST_DIR/way/mnt
swapped_at break unmount_path
expect_match "what is said" "'$MNT' can't be unmounted: something else was put there meanwhile" \
    "$(cat said)"
mountpoint -q moved/mnt || fail "the mount was unmounted where it is now"
back
swapped_at catch syscall umount2
! mountpoint -q moved/mnt || fail "the mount that was meant is still there: $(cat said)"
back

# The service of systemd takes no symbolic link of a user on the way to root's mount point.
mkdir closed
chmod 755 "$TEST_DIR"
mkdir -m 777 users
user ln -s "$PWD/closed" users/link
export WINDLASS MOUNT=$PWD/users/link/new
stack
expect_error "'$PWD/users/link/new' is behind a symbolic link of another user, '$PWD/users/link'" \
    sh "$BUILD_DIR/systemd/service" start "${VOL%.vol}"
[ ! -e closed/new ] || fail "a folder was made behind the link"
