#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# TRACE logs every wind and every unwind with its arguments, of one translator alone if its option
# says so; nothing without it.
. "$(dirname "$0")/../lib.sh"

work () {
    echo hello >"$MNT/file"
    cat "$MNT/file" "$MNT/missing" >/dev/null 2>&1
    rm "$MNT/file"
}
lines () {
    grep -c " T \[.* 0-$1: " "$LOG"
}

stack test/pass encryption/rot-13
mount_volfile "$VOL"
work
unmount
expect "lines at INFO" "0 0 0" "$(lines posix) $(lines pass-1) $(lines rot-13-2)"

mount_volfile "$VOL" -L TRACE
work
unmount
number=$(sed -n 's/.* 0-rot-13-2: \([0-9]*\): writev fuse -> rot-13-2: .*/\1/p' "$LOG")
[ -n "$number" ] || fail "no writev at rot-13-2"
expect "the way of a write" \
    "fuse -> rot-13-2,rot-13-2 -> pass-1,pass-1 -> posix,pass-1 <- posix,rot-13-2 <- pass-1,fuse <- rot-13-2" \
    "$(sed -n "s/.* T \[.*: $number: writev \(.*\): .*/\1/p" "$LOG" | paste -sd,)"
expect_match "a write" " T \[write.c:[0-9]+:fuse_write\] 0-rot-13-2: $number: writev " \
    "$(cat "$LOG")"
expect_match "its arguments" \
    " $number: .* fd=0x[0-9a-f]+ \{gfid=[0-9a-f-]{36} .*\}, count=1, offset=0, flags=" \
    "$(cat "$LOG")"
expect_match "its answer" "0-posix: $number: writev pass-1 <- posix: op_ret=6" "$(cat "$LOG")"
expect_match "an error's" \
    'lookup .* <- posix: op_ret=-1, op_errno=2 \(No such file or directory\)' "$(cat "$LOG")"
expect_match "a path" 'lookup .*loc=\{path=/missing' "$(cat "$LOG")"
expect "as many unwinds as winds" "$(grep -c ' T \[.* -> ' "$LOG")" \
    "$(grep -c ' T \[.* <- ' "$LOG")"

# One alone.
rm "$LOG"
sed -i 's|type encryption/rot-13|&\n    option log-level TRACE|' "$VOL"
mount_volfile "$VOL"
work
unmount
expect "lines of the others" "0 0" "$(lines posix) $(lines pass-1)"
expect_match "lines of this one" ' -> rot-13-2: ' "$(grep ' T \[' "$LOG")"
expect "as many unwinds as winds of it" "$(grep -c ' -> rot-13-2: ' "$LOG")" \
    "$(grep -c ' <- rot-13-2: ' "$LOG")"
