#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# While functions are traced, gdb's backtraces and those of crash reports are complete, breakpoints
# hit, and no spurious signal is seen.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_function_graph
need_command gdb
ulimit -c 0
stack encryption/rot-13 test/oops
mount_volfile "$VOL"

cat >script <<END
set pagination off
set width 0
break posix_writev
commands
bt
continue
end
shell touch attached
continue
END
timeout 250 gdb -nx -batch -p "$DAEMON" -x script >gdb.out 2>&1 &
wait_until "[ -e attached ]"

# hits N: gdb has seen so many writes, and goes on.
hits () {
    wait_until "[ \"\$(grep -c '^#0 .*posix_writev' gdb.out)\" = $1 ]"
}
"$WINDLASS" trace start "$MNT" >started || fail "trace start"
echo one >"$MNT/file"
hits 1
expect_ok "$WINDLASS" trace stop "$MNT"
echo two >"$MNT/file"
hits 2
expect_ok "$WINDLASS" trace start "$MNT"
echo three >"$MNT/file"
hits 3
expect "the data" three "$(cat "$MNT/file")"
trace_cat running
expect_trace running rot13_writev fuse_write
# In a release build the breakpoint is at the entry, which is then left alone; in a debug build it
# is behind it.
[ "$BUILD_NAME" != debug ] || expect_trace running posix_writev rot13_writev
for n in 1 2 3; do
    awk -v n=$n '/^#0 .*posix_writev/ { seen++ } seen == n' gdb.out | sed '1n; /^#0 /,$d' >bt
    for function in rot13_writev fuse_write start_thread; do
        expect_match "backtrace $n" "^#[0-9]+ .* (in )?$function " "$(cat bt)"
    done
done
expect_no_match "signals" 'received signal|corrupt stack' "$(cat gdb.out)"

# A crash in a function that is traced: the report goes on to where the thread began.
kill %1
wait
unmount
rm -f "$LOG" pid
mount_volfile "$VOL"
expect_ok "$WINDLASS" trace start "$MNT"
expect_error "$DAEMON_GONE" mkdir "$MNT/oops"
wait_until "! is_running $DAEMON"
said=$(sed -n '/^package-string/,/^---------$/p' "$LOG")
expect_match "what crashed" 'oops\.so.*\[0x[0-9a-f]+\]' "$said"
expect_match "who asked" 'libfuse3\.so.*\[0x[0-9a-f]+\]' "$said"
expect_match "where the thread began" 'libc\.so.*\[0x[0-9a-f]+\]' "$(grep "\[0x" <<<"$said" | tail -n 2)"
umount -l "$MNT" 2>/dev/null || fusermount3 -uz "$MNT"
