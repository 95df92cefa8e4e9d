#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mount under memcheck: nothing that isn't initialised is used, and nothing is left when it ends.
# builds: valgrind only
# long
. "$(dirname "$0")/../lib.sh"
need_fuse

stack encryption/rot-13
sh -c "exec $RUN --log-file=$TEST_DIR/found \"\$@\"" sh "$BUILD_DIR/src/windlass" -N -f "$VOL" \
    -l "$LOG" "$MNT" >out 2>&1 &
DAEMON=$!
unset RUN
wait_until "is_mounted || ! is_running $DAEMON"
echo hello >"$MNT/a_file"
expect "what is read" hello "$(cat "$MNT/a_file")"
mkdir "$MNT/dir"
ln "$MNT/a_file" "$MNT/dir/link"
mv "$MNT/a_file" "$MNT/dir/name"
expect "what is listed" "link name" "$(ls "$MNT/dir" | xargs)"
expect "an attribute that isn't there" 1 "$(getfattr -n user.x "$MNT/dir/name" >out 2>&1; echo $?)"
stat "$MNT/none" 2>/dev/null && fail "found what isn't there"
rm -r "$MNT/dir"
kill "$DAEMON"
wait "$DAEMON"
status=$?
# valgrind cannot read how an unwinder gets through a function that is traced, and says so of a
# program that has such.
expect "the exit status, which is 99 when something was found" "0:" \
    "$status:$(grep -v 'DWARF2 CFI reader: unhandled DW_OP_ opcode' "$TEST_DIR/found")"
DAEMON=''
