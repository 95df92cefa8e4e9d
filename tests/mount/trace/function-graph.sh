#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass trace: what a write through a mount calls, nested and timed; only some functions; and its
# answer to wrong input.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_function_graph
stack encryption/rot-13
mount_volfile "$VOL"

# Nothing was traced yet.
expect_error "windlass trace: .*no trace was started; begin one with: windlass trace start $MNT\$" \
    "$WINDLASS" trace cat "$MNT"
expect_error "windlass trace: no trace is on; begin one with: windlass trace start $MNT\$" \
    "$WINDLASS" trace stop "$MNT"

# A write goes down from the bridge to the storage, and its answer comes up inside of that.
said=$("$WINDLASS" trace start "$MNT")
expect_match "how many" '^[1-9][0-9]{3} functions are traced$' "$said"
expect "how to go on" "print their calls with: windlass trace cat $MNT
end it with: windlass trace stop $MNT" "$(tail -n 2 <<<"$said")"
echo hello >"$MNT/file"
expect "what was written" "uryyb" "$(cat "$BACK/file")"
trace_cat running
expect_ok "$WINDLASS" trace stop "$MNT"
echo more >"$MNT/later"
trace_cat stopped
for file in running stopped; do
    expect_trace $file rot13_writev fuse_write
    expect_trace $file posix_writev rot13_writev
    expect_trace $file rot13_writev_cbk posix_writev
done
expect "creates" 1 "$(grep -c 'fuse_create()' stopped)"

# Translators and the bridge alone, at any depth; with --all what they call in the core, but not the
# answer to the start, which the main thread gave; with --depth the outer levels.
expect_no_trace stopped stack_new
expect_no_trace stopped connection_read
trace_cat all --all
expect_trace all stack_new fuse_create
expect_trace all posix_create fuse_create
for name in connection_answer connection_write connection_end control_pack_answer; do
    expect_no_match "the answer to the start" " $name\(\)" "$(sed '/fuse_create/,$d' all)"
done
expect_match "the main thread's later calls" ' connection_read\(\)' "$(sed '1,/fuse_create/d' all)"
trace_cat flat --depth 2
expect_trace flat posix_create fuse_create
expect_no_match "a third level" '\|  {8}' "$(cat flat)"
expect_error "depth must be 1 or more" "$WINDLASS" trace cat "$MNT" --depth -1
expect_error "are for cat" "$WINDLASS" trace start "$MNT" --all

# Only some functions; what they are in is not theirs to show.
expect_match "some" '^[1-9][0-9]? functions are traced$' \
    "$("$WINDLASS" trace start "$MNT" --function 'rot13_*' --function '!rot13_ro*')"
expect_error "a trace is on already; end it with: windlass trace stop $MNT\$" "$WINDLASS" trace \
    start "$MNT"
echo hello >"$MNT/file"
expect_ok "$WINDLASS" trace stop "$MNT"
expect_error 'no trace is on' "$WINDLASS" trace stop "$MNT"
trace_cat some
expect_trace some rot13_writev_cbk rot13_writev
expect_no_trace some posix_writev
expect_no_trace some fuse_write
expect_no_trace some rot13_rotate
# What was named is printed, also if it is of the core.
expect_ok "$WINDLASS" trace start "$MNT" --function stack_new
cat "$MNT/file" >/dev/null
expect_ok "$WINDLASS" trace stop "$MNT"
trace_cat named
expect_trace named stack_new

# Only long calls: none of this was.
expect_ok "$WINDLASS" trace start "$MNT" --min 100s
cat "$MNT/file" >/dev/null
trace_cat long
expect_no_trace long posix_readv
expect_ok "$WINDLASS" trace stop "$MNT"

# What is wrong is said, and changes nothing.
expect_error "no function is called 'rot13_wirtev'.*did you mean 'rot13_writev'" "$WINDLASS" trace \
    start "$MNT" --function rot13_wirtev
expect_error "no function is called 'no_such_\*'" "$WINDLASS" trace start "$MNT" --function \
    'rot13_*' --function 'no_such_*'
expect_error "'min' must be .*, got 'soon'" "$WINDLASS" trace start "$MNT" --min soon
expect_error "'buffer' must be 64KB to 1GB, got '1KB'" "$WINDLASS" trace start "$MNT" --buffer 1KB
expect_error "'$BACK' is not a mount point" "$WINDLASS" trace start "$BACK"
expect_error "usage: windlass trace" "$WINDLASS" trace
expect_error "usage: windlass trace" "$WINDLASS" trace begin "$MNT"
expect_error "usage: windlass trace" "$WINDLASS" trace stop "$MNT" --min 1s
expect_error "a trace has no 'colour'" "$WINDLASS" tell "$MNT" - trace-start <(echo colour red)
expect_error "this is no place in a trace" "$WINDLASS" tell "$MNT" - trace-cat <(echo 1 2 3)
expect_error "can't be written: No space" sh -c '"$0" trace cat "$1" >/dev/full' "$WINDLASS" "$MNT"
trace_cat still
expect "the mount" hello "$(cat "$MNT/file")"

# The last calls stay when the ring is full, and it is said that others were lost.
expect_ok "$WINDLASS" trace start "$MNT" --buffer 64KB
for i in {1..150}; do echo "$i" >"$MNT/file"; done
expect_ok "$WINDLASS" trace stop "$MNT"
trace_cat full
expect_match "what was lost" '/\* [1-9][0-9]* calls were lost here \*/' "$(cat full)"
unmount
