#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A removal hangs, and the trash has something to tell of its directory, for which the kernel needs
# the lock that the caller of the removal has: a killed daemon ends all the same, and so does one
# that is told to. The kernel learns of the name once the removal is over.
. "$(dirname "$0")/lib.sh"
need_root
abort_at_exit

# hanging OPTION...: mounts; a removal in the root hangs, and /.Trash-0 was made meanwhile.
hanging () {
    rm -rf "$BACK"/* "$BACK"/.[!.]* pid
    mount_volfile "$VOL" "$@"
    mkdir "$MNT/gone" "$MNT/dir"
    echo text >"$MNT/dir/file"
    [ ! -e "$MNT/.Trash-0" ] || fail "there is a trash already"
    expect_ok "$WINDLASS" fault "$MNT" - <<<'rmdir path /gone -> hang'
    rmdir "$MNT/gone" 2>/dev/null &
    remover=$!
    wait_until '"$WINDLASS" inflight "$MNT" | grep -qi rmdir'
    rm "$MNT/dir/file"
    wait_until '[ -e "$BACK/.Trash-0/files/file" ]'
    wait_until 10 '! "$WINDLASS" jobs list "$MNT" | grep -q invalidate' # no thread waits
}

# ended WHAT: waits until the daemon has ended, and the removal with it.
ended () {
    wait_until 20 "! is_running $DAEMON"
    wait_until 10 "! is_running $remover"
    ! wait $remover || fail "$1: the removal succeeded"
    umount -l "$MNT"
}

stack debug/fault features/trash,settle=50ms
hanging
kill -9 "$DAEMON"
ended "the killed daemon"

hanging
kill "$DAEMON"
ended "the daemon that was told to end"

hanging --entry-timeout=600 --negative-timeout=600
expect_ok "$WINDLASS" fault "$MNT" --clear
wait $remover || fail "the removal failed"
wait_until '[ -e "$MNT/.Trash-0/files/file" ]'
unmount
