#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
<<<<<<< HEAD
# debug/trace: lines in GlusterFS's shape at whatever level the process logs, a history where nothing is said, each instance for
# itself, switched while it is mounted.
# builds: debug release tsan
. "$(dirname "$0")/lib.sh"

work () {
    echo hello >"$MNT/file"
    mv "$MNT/file" "$MNT/new name"
    cat "$MNT/new name" "$MNT/missing" >/dev/null 2>&1
    fallocate -l 100 "$MNT/new name"
    chmod 600 "$MNT/new name"
    rm "$MNT/new name"
}
lines () { # NAME [WHAT]: how many of that volume's lines have it
    grep " 0-$1: " "$LOG" | grep -c "${2-}"
}
history () {
    "$WINDLASS" tell "$MNT" "$1" history
}
gfid='[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
attributes="\\{gfid=$gfid ino=[0-9]+, mode=100644, nlink=1 uid=[0-9]+ gid=[0-9]+ size=[0-9]+ blocks=[0-9]+ atime=\\[[^]]*\\] mtime=\\[[^]]*\\] ctime=\\[[^]]*\\]\\}"

# One logs, one logs two operations at another level, one keeps what comes by.
stack debug/trace,log-file=yes "debug/trace,include=fallocate;MKDIR,log-file=yes,force-log-level=TRACE" debug/trace,history-size=8
sed -i 's/;/,/' "$VOL"
mount_volfile "$VOL" -L ERROR
work
log=$(cat "$LOG")
number=$(sed -n 's/.*trace_writev\] 0-trace-1: \([0-9]*\): .*/\1/p' "$LOG")
expect_match "a write" "\\+0000\\] I \\[trace.c:[0-9]+:trace_writev\\] 0-trace-1: $number: gfid=$gfid fd=0x[0-9a-f]+, path=/file, count=1, offset=0, flags=0[0-7]+, write_size=6$" "$log"
expect_match "its answer" ":trace_writev_cbk\\] 0-trace-1: $number: \\(op_ret=6, \\*prebuf = $attributes, \\*postbuf = $attributes\\)$" "$log"
expect_match "a rename" "0-trace-1: [0-9]+: gfid=$gfid path=/file -->  gfid=$gfid path=/new name, flags=0[0-7]*$" "$log"
expect_match "an error" '0-trace-1: [0-9]+: \(op_ret=-1, op_errno=2 \(No such file or directory\)\)$' "$log"
expect_match "a mode" ':trace_setattr\] 0-trace-1: [0-9]+: gfid=.* path=/new name, mode=600, valid=01$' "$log"
expect_match "a read" ':trace_readv\] 0-trace-1: [0-9]+: gfid=.* fd=0x[0-9a-f]+, path=/new name, size=[0-9]+, offset=0, flags=' "$log"
expect "calls and answers" "$(lines trace-1 '_cbk\]')" "$(($(lines trace-1) - $(lines trace-1 '_cbk\]') - $(lines trace-1 ':trace_release')))"
expect_match "the end of a file" ':trace_release\] 0-trace-1: gfid=.* fd=0x[0-9a-f]+, path=/new name$' "$log"
expect "what the second logs" "trace_fallocate trace_fallocate_cbk " "$(sed -n 's/.* T \[.*:\(.*\)\] 0-trace-2: .*/\1/p' "$LOG" | sort | tr '\n' ' ')"
expect "what others log" 0 "$(grep -vc ' 0-trace-[12]: ' "$LOG")"

# The history: eight at most, in their order, with the errno's text; and in a state dump.
expect "what it holds" 8 "$(history trace-3 | wc -l)"
expect "their order" "$(history trace-3 | sort)" "$(history trace-3)"
expect_match "a record" "^\\[20[0-9-]+ [0-9:.]+\\] trace_unlink: [0-9]+: path=/new name, offset=0, size=0, flags=00, uid=[0-9]+, pid=[0-9]+$" "$(history trace-3)"
cat "$MNT/missing" 2>/dev/null
expect_match "an error's record" 'trace_lookup_cbk: [0-9]+: \(op_ret=-1, op_errno=2 \(No such file or directory\)\)$' "$(history trace-3)"
expect "one that logs keeps none" "nothing was kept yet" "$(history trace-1)"

# Switched while it is mounted; the level of the volume itself silences it.
before=$(lines trace-3)
sed -i 's/option history-size "8"/&\n    option log-file yes\n    option log-history yes\n    option exclude-ops getxattr/' "$VOL"
expect_match "the reload" "^volume 'trace-3': option 'log-file': 'no' -> 'yes'$" "$("$WINDLASS" reload "$MNT")"
work
[ "$before" = 0 ] && [ "$(lines trace-3)" -gt 10 ] || fail "log-file doesn't begin with a reload: $before, then $(lines trace-3)"
expect "what it holds beside the log" 8 "$(history trace-3 | wc -l)"
sed -i 's/option exclude-ops getxattr/&\n    option log-level WARNING/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
before=$(lines trace-3)
work
expect "lines below the level of the volume" "$before" "$(lines trace-3)"
unmount

# A state dump has the history, and how much was kept.
mount_volfile "$VOL"
work
kill -USR1 "$DAEMON"
wait_until "grep -q 'state dumped to' '$LOG'"
dump=$(sed -n "s/.*state dumped to '\(.*\)'$/\1/p" "$LOG")
expect_match "the state of one" '^history-size=8$' "$(sed -n '/^\[xlator.debug.trace.trace-3.priv\]/,/^$/p' "$dump")"
expect_match "its history" '^\[.*\] trace_unlink_cbk: [0-9]+: \(op_ret=0\)$' "$(sed -n '/^\[xlator.debug.trace.trace-3.history\]/,/^$/p' "$dump")"
rm "$dump"
unmount

# Both lists: refused, with both places.
sed -i 's/option exclude-ops getxattr/&\n    option include lookup/' "$VOL"
expect_error "^$VOL:[0-9]+:[0-9]+: error: volume 'trace-3': option 'include-ops' can't be used with option 'exclude-ops', which is set at line [0-9]+: remove one$" "$WINDLASS" check "$VOL"
sed -i '/option include lookup/d; s/getxattr/lokup/' "$VOL"
expect_error "option 'exclude-ops' .*'lokup' is no operation; did you mean 'lookup'" "$WINDLASS" check "$VOL"
=======
# windlass trace: what a write through a mount calls, nested and timed; only some functions; and what it says to wrong input.
# builds: debug release asan tsan
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/trace-lib.sh"
need_function_graph
stack encryption/rot-13
mount_volfile "$VOL"

# Nothing was traced yet.
expect_error 'windlass trace: .*no trace was started' "$WINDLASS" trace cat "$MNT"
expect_error 'windlass trace: no trace is on' "$WINDLASS" trace stop "$MNT"

# A write goes down from the bridge to the storage, and its answer comes up inside of that.
expect_match "how many" '^[1-9][0-9]{3} functions are traced$' "$("$WINDLASS" trace start "$MNT")"
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

# Only some functions; what they are in is not theirs to show.
expect_match "some" '^[1-9][0-9]? functions are traced$' "$("$WINDLASS" trace start "$MNT" --function 'rot13_*' --function '!rot13_b*')"
expect_error 'a trace is on already' "$WINDLASS" trace start "$MNT"
echo hello >"$MNT/file"
expect_ok "$WINDLASS" trace stop "$MNT"
expect_error 'no trace is on' "$WINDLASS" trace stop "$MNT"
trace_cat some
expect_trace some rot13_writev_cbk rot13_writev
expect_no_trace some posix_writev
expect_no_trace some fuse_write
expect_no_trace some rot13_bytes

# Only long calls: none of this was.
expect_ok "$WINDLASS" trace start "$MNT" --min 100s
cat "$MNT/file" >/dev/null
trace_cat long
expect_no_trace long posix_readv
expect_ok "$WINDLASS" trace stop "$MNT"

# What is wrong is said, and changes nothing.
expect_error "no function is called 'rot13_wirtev'.*did you mean 'rot13_writev'" "$WINDLASS" trace start "$MNT" --function rot13_wirtev
expect_error "no function is called 'nothing_\*'" "$WINDLASS" trace start "$MNT" --function 'rot13_*' --function 'nothing_*'
expect_error "'min' must be .*, got 'soon'" "$WINDLASS" trace start "$MNT" --min soon
expect_error "'buffer' must be 64KB to 1GB, got '1KB'" "$WINDLASS" trace start "$MNT" --buffer 1KB
expect_error "'$BACK' is not a mount point" "$WINDLASS" trace start "$BACK"
expect_error "usage: windlass trace" "$WINDLASS" trace
expect_error "usage: windlass trace" "$WINDLASS" trace begin "$MNT"
expect_error "usage: windlass trace" "$WINDLASS" trace stop "$MNT" --min 1s
expect_error "a trace has no 'colour'" "$WINDLASS" tell "$MNT" - trace-start <(echo colour red)
expect_error "this is no place in a trace" "$WINDLASS" tell "$MNT" - trace-cat <(echo 1 2 3)
expect_error "can't write all of it: No space" sh -c '"$0" trace cat "$1" >/dev/full' "$WINDLASS" "$MNT"
trace_cat still
expect "the mount" hello "$(cat "$MNT/file")"

# The last calls stay when the ring is full, and it is said that others were lost.
expect_ok "$WINDLASS" trace start "$MNT" --buffer 64KB
for i in {1..150}; do echo "$i" >"$MNT/file"; done
expect_ok "$WINDLASS" trace stop "$MNT"
trace_cat full
expect_match "what was lost" '/\* [1-9][0-9]* calls were lost here \*/' "$(cat full)"
unmount
>>>>>>> a99fd73 (trace: the function graph, live)
