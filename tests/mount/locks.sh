#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Locks hold between processes on the mount and on the bare directory, end with their owner, and can be interrupted.
# builds: tsan debug
. "$(dirname "$0")/lib.sh"
lock=$PROGRAMS/lock

# hold KIND TYPE FILE: another process keeps a lock until released.
hold () {
    rm -f wait holds
    mkfifo wait
    "$lock" "$1" "$2" wait "$3" <wait >holds &
    holder=$!
    exec 5>wait
    wait_until "grep -q got holds"
}
release () {
    exec 5>&-
    wait $holder
}
try () {
    "$lock" "$1" "$2" try "$3" </dev/null
}

stack encryption/rot-13
mount_volfile "$VOL"
echo text >"$MNT/file"
for kind in fcntl ofd flock; do
    for sides in "$MNT $MNT" "$MNT $BACK" "$BACK $MNT"; do
        hold $kind write "${sides% *}/file"
        expect "$kind: a second one ($sides)" EAGAIN "$(try $kind read "${sides#* }/file")"
        release
        # Locks of a descriptor go with FUSE's release, which close() doesn't wait for.
        [ $kind = fcntl ] || wait_until "[ \$(try $kind write ${sides#* }/file) = got ]"
        [ $kind != fcntl ] || expect "$kind: after its release ($sides)" got "$(try $kind write "${sides#* }/file")"
    done
    hold $kind read "$MNT/file"
    expect "$kind: two readers" got "$(try $kind read "$MNT/file")"
    expect "$kind: and a writer" EAGAIN "$(try $kind write "$MNT/file")"

    # It waits, until it is interrupted; or until the holder is killed.
    "$lock" $kind write wait "$MNT/file" </dev/null >interrupted &
    waiter=$!
    "$lock" $kind write wait "$MNT/file" </dev/null >waited &
    second=$!
    wait_until "[ \$(wc -l <'/proc/$waiter/stack') -gt 2 ] && grep -q fuse '/proc/$waiter/stack' '/proc/$second/stack'"
    # It may be opening the file still, and wait only then.
    wait_until "! kill -INT $waiter 2>/dev/null"
    wait $waiter
    expect "$kind: interrupted" EINTR "$(cat interrupted)"
    expect "$kind: the other waits still" "" "$(cat waited)"
    kill -9 $holder
    wait $holder 2>/dev/null
    wait $second || fail "$kind: the second waiter failed"
    expect "$kind: after the holder died" got "$(cat waited)"
    exec 5>&-
done
