#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs over write-behind over slow storage: their results are right, they are faster, and late
# errors are reported.
# builds: release tsan debug
# longer
. "$(dirname "$0")/../lib.sh"
need_fuse
slow=debug/delay-gen,delay-percentage=100%,delay-duration=20000,enable=writev
behind=performance/write-behind

# 50 writes, of which storage, busy for a fifth of a second each time, sees few, since the others
# are merged meanwhile.
stack "${slow/20000/200000}" $behind
mount_volfile "$VOL"
expect_ok "$WINDLASS" stats "$MNT" --on
dd if=/dev/zero of="$MNT/f" bs=4k count=50 conv=fsync 2>/dev/null || fail "dd"
writes () { # TRANSLATOR-TYPE
    "$WINDLASS" stats "$MNT" |
        sed -n "s|^windlass_fop_seconds_count{.*type=\"$1\",fop=\"writev\"} ||p"
}
expect "what was written" 50 "$(writes $behind)"
[ "$(writes storage/posix)" -le 12 ] || fail "$(writes storage/posix) writes of storage for 50"
expect_ok "$WINDLASS" stats "$MNT" --off

# Two writers to one file, each to the end of it and each in a place of its own; and by another name
# the size is right at once.
mount | grep -q "$MNT" || fail "not mounted"
ln "$MNT/f" "$MNT/other"
: >"$MNT/f"
lines=$(amount 15 60)
for writer in one two; do
    { for i in $(seq "$lines"); do echo "$writer $i" >>"$MNT/f"; done; } &
done
wait %1 %2 2>/dev/null || wait
for writer in one two; do
    expect "the lines of $writer, in order" "$(seq -f "$writer %g" "$lines")" \
        "$(grep "^$writer" "$MNT/other")"
done
printf 'head' | dd of="$MNT/f" conv=notrunc status=none
expect "the size by another name" "$(stat -c %s "$MNT/f")" "$(stat -c %s "$MNT/other")"
expect "what was written over" head "$(head -c 4 "$MNT/other")"

# A time that is set stays, and a program that was copied starts: its bytes are there before it
# runs.
cp -p "$(type -P true)" "$MNT/true"
expect "the time of a copy" "$(stat -L -c %Y "$(type -P true)")" "$(stat -c %Y "$MNT/true")"
expect_ok "$MNT/true"

# An archive, and its end right before the mount's.
mkdir "$TEST_DIR/tree"
for i in {1..60}; do head -c $((i * 700)) /dev/urandom >"$TEST_DIR/tree/$i"; done
tar cf - -C "$TEST_DIR" tree | tar xf - -C "$MNT"
unmount
expect "the tree in the directory" '' "$(diff -r "$TEST_DIR/tree" "$BACK/tree")"

# Errors: dd gets them from fsync, and cp, which does not call it, from close.
echo 'writev path /f* -> delay 5ms then error ENOSPC' >"$TEST_DIR/rules"
stack "debug/fault,rules=$TEST_DIR/rules" $behind,flush-behind=on
mount_volfile "$VOL"
expect_error 'fsync.*No space left' dd if=/dev/zero of="$MNT/f" bs=4k count=1 conv=fsync
expect_error 'clos.*No space left' cp "$TEST_DIR/tree/1" "$MNT/f2"
expect_ok sync "$MNT/f2" # cp was told
expect_ok cp "$TEST_DIR/tree/1" "$MNT/g"
expect_match "the log" "10*.* bytes at offset 0 of '/f' were not written.*No space left" \
    "$(cat "$LOG")"

# The kernel shows what is there, and not what it had in mind, once that is lost.
wait_until '[ "$(stat -c %s "$MNT/f2")" = 0 ]'
expect "what is read of it" '' "$(cat "$MNT/f2")"
echo 'writev path /h times 1 -> delay 5ms then error EIO' >"$TEST_DIR/rules.h"
head -c 4096 /dev/zero | tr '\0' a >"$MNT/h"
sync "$MNT/h"
expect_ok "$WINDLASS" fault "$MNT" "$TEST_DIR/rules.h"
# One write: of several the rule may meet another one first than the one that begins the file.
head -c 4096 /dev/zero | tr '\0' b |
    dd of="$MNT/h" bs=4k iflag=fullblock conv=notrunc,fsync status=none 2>/dev/null &&
    fail "fsync told nothing"
expect "what is there once fsync has failed" a "$(head -c 1 "$MNT/h")"
expect_ok "$WINDLASS" fault "$MNT" "$TEST_DIR/rules"

# Options that may change do so while it is mounted; the window is never smaller than one write to
# storage.
sed -i 's/type performance.write-behind/&\n    option cache-size 2MB/; s/flush-behind "on"/flush-behind "off"/' \
    "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect_error 'No space left' cp "$TEST_DIR/tree/1" "$MNT/f3"
unmount
stack $behind,cache-size=512KB,aggregate-size=1MB
expect_error \
    "test.vol:[0-9]+:[0-9]+: error: .*'aggregate-size' must be at most option 'cache-size', which is 512KB, got '1MB'" \
    "$WINDLASS" -f "$VOL" -l "$LOG" "$MNT"
