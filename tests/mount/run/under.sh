#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# ./windlass runs what was built, by itself and under other commands, whose words may be quoted.
# builds: release only
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command valgrind strace gdb

stack encryption/rot-13
expect_match "by itself" '^windlass [0-9]' "$("$WINDLASS" --version)"
expect "quoted words of RUN" "a  b" "$(RUN="sh -c 'echo \"a  b\"' sh" "$WINDLASS")"

RUN="gdb -nx -batch -ex run" "$WINDLASS" check "$VOL" >gdb.out 2>&1
expect_match "under gdb" 'exited normally' "$(cat gdb.out)"
expect_match "and its script" '\^frame_' "$(RUN="gdb -nx -batch -ex 'info skip'" "$WINDLASS")"

RUN="strace -f -o strace.out" expect_ok "$WINDLASS" check "$VOL"
expect_match "under strace" 'rot-13\.so' "$(cat strace.out)"

RUN="valgrind -q --error-exitcode=9" "$WINDLASS" -N -f "$VOL" -l "$LOG" "$MNT" >valgrind.out 2>&1 &
DAEMON=$!
wait_until "is_mounted || ! is_running $DAEMON"
echo hello >"$MNT/a_file"
expect "what is read under valgrind" hello "$(cat "$MNT/a_file")"
kill "$DAEMON"
wait "$DAEMON"
expect "valgrind's exit status, which tells of errors" 0 $?
# valgrind cannot read how an unwinder gets through a function that is traced, and says so of a
# program that has such.
expect "what valgrind found" "" \
    "$(grep -v 'DWARF2 CFI reader: unhandled DW_OP_ opcode' valgrind.out)"
DAEMON=''
