#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# debug/trace: lines in GlusterFS's shape at every log level of the process, a history where nothing
# is logged, each instance for itself, switched while it is mounted.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"

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
stack debug/trace,log-file=yes \
    "debug/trace,include=fallocate;MKDIR,log-file=yes,force-log-level=TRACE" \
    debug/trace,history-size=8
sed -i 's/;/,/' "$VOL"
mount_volfile "$VOL" -L ERROR
work
log=$(cat "$LOG")
number=$(sed -n 's/.*trace_writev\] 0-trace-1: \([0-9]*\): .*/\1/p' "$LOG")
expect_match "a write" \
    "\\+0000\\] I \\[trace.c:[0-9]+:trace_writev\\] 0-trace-1: $number: gfid=$gfid fd=0x[0-9a-f]+, path=/file, count=1, offset=0, flags=0[0-7]+, write_size=6$" \
    "$log"
expect_match "its answer" \
    ":trace_writev_cbk\\] 0-trace-1: $number: \\(op_ret=6, \\*prebuf = $attributes, \\*postbuf = $attributes\\)$" \
    "$log"
expect_match "a rename" \
    "0-trace-1: [0-9]+: gfid=$gfid path=/file -->  gfid=$gfid path=/new name, flags=0[0-7]*$" "$log"
expect_match "an error" \
    '0-trace-1: [0-9]+: \(op_ret=-1, op_errno=2 \(No such file or directory\)\)$' "$log"
expect_match "a mode" \
    ':trace_setattr\] 0-trace-1: [0-9]+: gfid=.* path=/new name, mode=600, valid=01$' "$log"
expect_match "a read" \
    ':trace_readv\] 0-trace-1: [0-9]+: gfid=.* fd=0x[0-9a-f]+, path=/new name, size=[0-9]+, offset=0, flags=' \
    "$log"
expect "calls and answers" "$(lines trace-1 '_cbk\]')" \
    "$(($(lines trace-1) - $(lines trace-1 '_cbk\]') - $(lines trace-1 ':trace_release')))"
expect_match "the end of a file" \
    ':trace_release\] 0-trace-1: gfid=.* fd=0x[0-9a-f]+, path=/new name$' "$log"
expect "what the second logs" "trace_fallocate trace_fallocate_cbk " \
    "$(sed -n 's/.* T \[.*:\(.*\)\] 0-trace-2: .*/\1/p' "$LOG" | sort | tr '\n' ' ')"
expect "what others log" 0 "$(grep -vc ' 0-trace-[12]: ' "$LOG")"

# The history: eight at most, in their order, with the errno's text; and in a state dump.
expect "what it holds" 8 "$(history trace-3 | wc -l)"
expect "their order" "$(history trace-3 | sort)" "$(history trace-3)"
expect_match "a record" \
    "^\\[20[0-9-]+ [0-9:.]+\\] trace_unlink: [0-9]+: path=/new name, offset=0, size=0, flags=00, uid=[0-9]+, pid=[0-9]+$" \
    "$(history trace-3)"
cat "$MNT/missing" 2>/dev/null
expect_match "an error's record" \
    'trace_lookup_cbk: [0-9]+: \(op_ret=-1, op_errno=2 \(No such file or directory\)\)$' \
    "$(history trace-3)"
expect "one that logs keeps none" "nothing was kept yet" "$(history trace-1)"

# Switched while it is mounted; the level of the volume itself silences it.
before=$(lines trace-3)
sed -i 's/option history-size "8"/&\n    option log-file yes\n    option log-history yes\n    option exclude-ops getxattr/' \
    "$VOL"
expect_match "the reload" "^volume 'trace-3': option 'log-file': 'no' -> 'yes'$" \
    "$("$WINDLASS" reload "$MNT")"
work
[ "$before" = 0 ] && [ "$(lines trace-3)" -gt 10 ] ||
    fail "log-file doesn't begin with a reload: $before, then $(lines trace-3)"
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
expect_match "the state of one" '^history-size=8$' \
    "$(sed -n '/^\[xlator.debug.trace.trace-3.priv\]/,/^$/p' "$dump")"
expect_match "its history" '^\[.*\] trace_unlink_cbk: [0-9]+: \(op_ret=0\)$' \
    "$(sed -n '/^\[xlator.debug.trace.trace-3.history\]/,/^$/p' "$dump")"
rm "$dump"
unmount

# Both lists: refused, with both places.
sed -i 's/option exclude-ops getxattr/&\n    option include lookup/' "$VOL"
expect_error \
    "^$VOL:[0-9]+:[0-9]+: error: volume 'trace-3': option 'include-ops' can't be used with option 'exclude-ops', which is set at line [0-9]+: remove one$" \
    "$WINDLASS" check "$VOL"
sed -i '/option include lookup/d; s/getxattr/lokup/' "$VOL"
expect_error "option 'exclude-ops' .*'lokup' is no operation; did you mean 'lookup'" "$WINDLASS" \
    check "$VOL"
