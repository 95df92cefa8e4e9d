#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What may be wrong with copies: bricks of different volumes, no room on one of three or on two, and
# a brick whose clock is wrong.
. "$(dirname "$0")/lib.sh"

says () {
    expect_match "the log" "$1" "$(cat "$LOG")"
}

mkdir c2.d c1.d
for name in c1 c2; do
    mount -t tmpfs -o size=16M,mode=755 "$name" $name.d || fail "no tmpfs"
done
bricks_begin
replicate_volfile

# --- bricks of different volumes ------------------------------------------------------------------

for name in c0 c1; do
    setfattr -n trusted.glusterfs.volume-id -v 0x11111111111111111111111111111111 $name.d
done
setfattr -n trusted.glusterfs.volume-id -v 0x22222222222222222222222222222222 c2.d
"$WINDLASS" -f "$VOL" -l "$LOG" -p "$TEST_DIR/pid" "$MNT" 2>err && DAEMON=$(cat "$TEST_DIR/pid")
[ -z "$DAEMON" ] || expect_error 'Input/output error' ls "$MNT"
says "all subvolumes must be bricks of one volume \(trusted.glusterfs.volume-id\), got \
c0 of 11111111-.*, c1 of 11111111-.*, c2 of 22222222-.*; correct remote-host and remote-subvolume"
[ -z "$DAEMON" ] || unmount
setfattr -n trusted.glusterfs.volume-id -v 0x11111111111111111111111111111111 c2.d

# --- no room --------------------------------------------------------------------------------------

mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
mount -o remount,size=64M c1.d
expect_ok dd if=/dev/urandom of="$MNT/large" bs=1M count=20 conv=fsync status=none
wait_until "marks c0 c1 | grep -q 'large: trusted.afr.c2='"
expect "what a reader gets" "$(sha256sum <c0.d/large)" "$(sha256sum <"$MNT/large")"
expect_match "what explain says" 'c0 reports that c2 has missed changes of data' \
    "$("$WINDLASS" explain "$MNT/large")"
says "writev in '/large' failed on c2: No space left on device; other copies have the change, and \
accuse this one: correct the cause on the brick"
mount -o remount,size=64M c2.d
expect_ok "$WINDLASS" heal "$MNT" large
expect_equal_copies "after healing"
wait_until no_marks

# Of two copies without room the caller hears.
mount -o remount,size=24M c1.d && mount -o remount,size=24M c2.d || fail "the bricks can't shrink"
expect_error 'No space left' dd if=/dev/zero of="$MNT/larger" bs=1M count=30 conv=fsync status=none
mount -o remount,size=64M c1.d && mount -o remount,size=64M c2.d || fail "the bricks can't grow"
expect_ok "$WINDLASS" heal "$MNT" larger
expect_equal_copies "after healing"

# --- a wrong clock --------------------------------------------------------------------------------

# The times of a file don't change from one look to the next, and don't make a copy a bad one.
echo text >"$MNT/timed"
touch -d '1 Jan 2040' c1.d/timed
touch -d '1 Jan 2001' c2.d/timed
first=$(stat -c %y "$MNT/timed")
for _ in {1..20}; do
    expect "the time" "$first" "$(stat -c %y "$MNT/timed")"
done
echo more >>"$MNT/timed"
expect "what a reader gets" $'text\nmore' "$(cat "$MNT/timed")"
wait_until no_marks
unmount
