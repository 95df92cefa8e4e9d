#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where kernel passthrough is impossible: refused in the middle, by a file system, or from the
# beginning. Files are read and written all the same, the log says so once, and with
# passthrough=required nothing is mounted.
. "$(dirname "$0")/../lib.sh"
need_root
PASSTHROUGH=auto

why () {
    "$WINDLASS" explain "$1" | sed -n 's/^kernel passthrough: //p'
}

# Some of the directory is on an overlay, which stands on another file system already.
stack
mkdir upper work lower "$BACK/overlay"
mount -t overlay none \
    -o "lowerdir=$TEST_DIR/lower,upperdir=$TEST_DIR/upper,workdir=$TEST_DIR/work" \
    "$BACK/overlay" 2>/dev/null ||
    skip "needs overlayfs"
mount_volfile "$VOL" --log-level=DEBUG
why "$MNT" | grep -q "doesn't offer it" && skip "needs Linux 6.9 with FUSE passthrough"
for i in 1 2 3; do
    echo "before $i" >"$MNT/before-$i"
    echo "refused $i" >"$MNT/overlay/refused-$i"
    echo "after $i" >"$MNT/after-$i"
done
expect "what was written" "refused 1refused 2refused 3" \
    "$(cat "$BACK"/overlay/refused-* | tr -d '\n')"
expect "what is read" "before 1refused 2after 3" \
    "$(cat "$MNT/before-1" "$MNT/overlay/refused-2" "$MNT/after-3" | tr -d '\n')"
expect "how often the log warns" 1 "$(grep -c ' W .*kernel passthrough was refused' "$LOG")"
expect_match "why" \
    "refused for '/overlay/refused-1': its file system stands on another one already" \
    "$(cat "$LOG")"
expect_match "the next one" " D .*kernel passthrough was refused for '/overlay/refused-2'" \
    "$(cat "$LOG")"
expect_match "files after that" "kernel passthrough of '/after-3': yes" "$(cat "$LOG")"
exec 3<"$MNT/overlay/refused-1"
expect_match "an open file" \
    '^no, open once through the page cache until its last close; later opens: ' \
    "$(why "$MNT/overlay/refused-1")"
exec 3<&-
expect_match "what explain says" '^the kernel refused it [0-9]+ times' \
    "$(why "$MNT/overlay/refused-1")"

# A mount on a mount: the lower one has what can be had.
inner=$MNT
mkdir "$TEST_DIR/outer"
BACK=$inner VOL=$TEST_DIR/outer.vol stack
"$WINDLASS" -f "$TEST_DIR/outer.vol" -l "$TEST_DIR/outer.log" "$TEST_DIR/outer" ||
    fail "a mount on a mount"
expect_ok cp /bin/true "$TEST_DIR/outer/copy"
expect_ok cmp /bin/true "$TEST_DIR/outer/copy"
expect_match "the upper log" 'its file system stands on another one already' \
    "$(cat "$TEST_DIR/outer.log")"
outer=$(pgrep -f "^$BUILD_DIR/src/windlass .*$TEST_DIR/outer.vol")
[ -n "$outer" ] || fail "the outer mount has no daemon"
umount "$TEST_DIR/outer"
wait_until "! is_running $outer" # it has the inner mount open
unmount
umount "$BACK/overlay"

# Required, and not to be had: nothing is mounted.
# refused REGEX OPTION...
refused () {
    local regex=$1
    shift
    expect_error "$regex" "$WINDLASS" -f "$VOL" -l "$LOG" --passthrough=required "$@" "$MNT"
    ! is_mounted || fail "it is mounted"
}
refused 'is required \(passthrough\), but the kernel can.t collect writes' \
    --kernel-writeback-cache=on
refused 'but reads and writes are to go past the page cache \(direct-io-mode\)' --direct-io-mode=on
stack encryption/rot-13
refused "but volume 'rot-13-1' \(.*:5\) rotates the file's bytes"
POSIX_OPTIONS=o-direct=on stack
refused "but volume 'posix' .*past the page cache \(o-direct\)"
expect_error "must be .*required.*, got 'perhaps'" "$WINDLASS" -f "$VOL" -l "$LOG" \
    --passthrough=perhaps "$MNT"

# And where it can: the same as auto.
stack
mount_volfile "$VOL" --passthrough=required
touch "$MNT/file"
expect_match "required" '^yes' "$(why "$MNT/file")"
unmount
mount_volfile "$VOL" --passthrough=off
touch "$MNT/file"
expect_match "off" '^no, it is off \(passthrough\)' "$(why "$MNT/file")"
expect_ok "$PROGRAMS/passed" "$MNT"
unmount

# A daemon with few descriptors has enough, since the kernel holds the files that it reads and
# writes: 3000 files are listed, 40 are open.
(cd "$BACK" && mkdir many && cd many && seq -f 'file-%04g' 3000 | xargs touch)
ulimit -n 256
rm -f "$LOG"
(ulimit -n 64 && mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0) || exit 1
for i in {10..49}; do
    eval "exec $((i + 10))<>'$MNT/many/file-00$i'" || fail "can't open file $i"
done
expect "a listing with attributes" 3000 "$(ls -l "$MNT/many" | grep -c '^-.* file-')"
for i in {10..49}; do
    echo "$i" >&$((i + 10)) || fail "can't write to file $i"
    expect "file $i" "$i" "$(cat "$BACK/many/file-00$i")"
done
expect_no_match "the log" 'passthrough was refused' "$(cat "$LOG")"
for i in {10..49}; do
    eval "exec $((i + 10))>&-"
done
