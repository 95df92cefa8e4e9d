#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A child that blocks threads holds up no other request: sixty-four reads hang, and attributes,
# names and new files are answered all the same, whether one thread takes requests or eight, and
# whatever was quick before.
# builds: release tsan debug
# longer
. "$(dirname "$0")/../lib.sh"

number () { # KEY: of what the bridge tells of itself
    sed -n "s/^$1 = //p" "$MNT/.meta/master/private"
}

for i in {1..64}; do head -c 4096 /dev/zero >"$BACK/file$i"; done

# No step here has a time limit: a request that waits behind a read waits for ever, and the test
# runs into its own limit.
others_are_answered () {
    for i in {65..84}; do
        stat "$MNT/file$((i - 64))" >/dev/null || fail "stat fails"
        echo new >"$MNT/file$i" || fail "a file can't be made"
    done
    [ "$(find "$MNT" -maxdepth 1 -name 'file*' | wc -l)" = 84 ] || fail "not all names are listed"
    mv "$MNT/file84" "$MNT/file83"
    rm "$MNT"/file{65..83}
}

readers_hang () { # HOW-MANY-ARE-DELAYED
    for i in {1..64}; do cat "$MNT/file$i" >"out$i" & done
    wait_until '[ "$(sed -n "s/^delayed = //p" "$MNT/.meta/graphs/active/delay-gen-1/private")" = '"$1"' ]'
    others_are_answered
}

# all_go: the mount ends, so what hangs is let go, and every read is right.
all_go () {
    kill "$DAEMON"
    wait_until "! is_running $DAEMON"
    DAEMON=''
    wait
    for i in {1..64}; do cmp "out$i" "$BACK/file$i" || fail "file$i reads as something else"; done
    expect_no_match "nothing was left unanswered" 'unanswered' "$(cat "$LOG")"
}

ways=("--reader-thread-count=1" "--reader-thread-count=8")
for how in "${ways[@]}"; do
    stack debug/delay-gen,delay-percentage=100%,block=on,enable=readv,delay-duration=3600000000
    # shellcheck disable=SC2086 # words
    mount_volfile "$VOL" $how --attribute-timeout=0 --entry-timeout=0 --direct-io-mode=on
    readers_hang 64
    [ "$(($(number readers) + $(number work_threads)))" -le 128 ] ||
        fail "$(number readers) threads take requests, $(number work_threads) run others"
    all_go
done

# Threads started in place of one that hangs end again. The child is a mount, where an open hangs
# until the test releases it.
lower=$TEST_DIR/lower
mkdir "$lower"
stack debug/fault
"$WINDLASS" -f "$VOL" -l lower.log -p lower.pid "$lower" || fail "the lower mount"
BACK=$lower stack
mount_volfile "$VOL" --reader-thread-count=1 --io-uring=off
cat "$MNT"/file* >/dev/null
expect_ok "$WINDLASS" fault "$lower" - <<<'open path "/file1" -> hang'
cat "$MNT/file1" >out1 &
wait_until 'stat "$MNT/file2" >/dev/null && [ "$(number readers)" -ge 3 ]'
expect_ok "$WINDLASS" fault "$lower" --clear
wait $! || fail "what was let go fails"
cmp out1 "$MNT/file1" || fail "file1 reads as something else"
# /proc tells of them without a request, which may need one more.
wait_until '[ "$(cat "/proc/$DAEMON"/task/*/comm | grep -c "^fuse-[0-9]")" = 2 ]'
unmount

# Many threads that finish at the same time do not all wait for the next request: each would stay,
# with its memory, for as long as no request comes.
mount_volfile "$VOL" --reader-thread-count=40 --io-uring=off
expect_ok "$WINDLASS" fault "$lower" - <<<'open path "/file*" -> hang'
for i in {1..36}; do cat "$MNT/file$i" >"out$i" & done
wait_until '[ "$(number name_old)" = 36 ]'
expect_ok "$WINDLASS" fault "$lower" --clear
wait
[ "$(number readers_waiting)" -le 41 ] || fail "$(number readers_waiting) threads wait for requests"
for i in {1..36}; do cmp "out$i" "$MNT/file$i" || fail "file$i reads as something else"; done
unmount
umount "$lower"
