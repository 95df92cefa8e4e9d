#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick that is silent holds up writes and reads for ping-timeout, then the others go on. When it
# speaks again it is there again, with a copy that is accused until it is healed.
. "$(dirname "$0")/lib.sh"

bricks_begin
# The other bricks may be slow, on a busy machine.
replicate_volfile read-subvolume=c0
sed -i '/^volume c0$/,/^end-volume$/s/option ping-timeout .*/option ping-timeout 2/' "$VOL"
mount_volfile "$VOL"
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
echo before >"$MNT/file"
echo text >"$MNT/read"
wait_until no_marks
brick_freeze c0
begin=$SECONDS
echo after >"$MNT/file" || fail "a write failed"
expect "what is read" text "$(cat "$MNT/read")"
expect "what is read back" after "$(cat "$MNT/file")"
took=$((SECONDS - begin))
[ $took -le 30 ] || fail "it took $took seconds"
expect_match "explain" 'not there: c0' "$("$WINDLASS" explain "$MNT/file")"
kill -CONT "${BRICK_PID[c0]}"
wait_until "'$WINDLASS' explain '$MNT/file' | grep -q 'there: c0, c1, c2'"
expect "what is read then" after "$(cat "$MNT/file")"
wait_until "! marks c1 c2 | grep -q dirty"
expect_match "the accusation" 'c1: file: trusted.afr.c0=0x0000000[1-9]' "$(marks c1)"
wait_until "'$WINDLASS' heal '$MNT' file >heal.out"
wait_until "'$WINDLASS' heal '$MNT' / >heal.out"
expect "the copy" after "$(cat c0.d/file)"
wait_until no_marks
expect_equal_copies
unmount
