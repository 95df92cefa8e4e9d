#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass trace start with --translator, --fop, --path and --pid: only the functions of such
# requests, with the calls that lead there, also on the thread that continues a request that was
# held back.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_function_graph
stack encryption/rot-13 debug/delay-gen,delay-duration=1000,delay-percentage=100,enable=writev
mount_volfile "$VOL"

# traced FILE OPTION...: the same work, under that filter.
traced () {
    local file=$1
    shift
    rm -f "$MNT/one" "$MNT/two.db"
    expect_ok "$WINDLASS" trace start "$MNT" "$@"
    echo one >"$MNT/one"
    echo two >"$MNT/two.db"
    cat "$MNT/one" >/dev/null
    stat "$MNT/two.db" >/dev/null
    expect_ok "$WINDLASS" trace stop "$MNT"
    trace_cat "$file" --all
}

# The write is held back above rot-13 and goes on in a worker.
traced fop --fop writev
expect_trace fop rot13_writev
expect_trace fop posix_writev rot13_writev
expect_trace fop rot13_writev_cbk posix_writev
expect_no_trace fop rot13_readv
expect_no_trace fop posix_create
expect "writes" 2 "$(grep -c ' rot13_writev() {' fop)"

traced fops --fop create --fop READ
expect_trace fops posix_create fuse_create
expect_trace fops rot13_readv fuse_read
expect_no_trace fops posix_writev

# Of a volume, what it and those below it do; but not those above.
traced translator --translator posix
expect_trace translator posix_writev rot13_writev
expect_no_trace translator rot13_rotate
expect_trace translator posix_lookup

traced path --path '*.db' --fop writev
expect "writes" 1 "$(grep -c ' rot13_writev() {' path)"
expect "of the trace's own watching" "" \
    "$(grep -E ' (watch(ed)?_|(un)?wind_with_|tell_wind|move_out|xlator_own_|xlator_does)' fop \
    fops path)"

traced nobody --pid 2147483647
expect_no_trace nobody posix_writev
traced self --pid $$
expect_trace self posix_writev
expect_no_trace self rot13_readv

# With --function, what there is of both.
traced both --fop writev --function 'posix_*'
expect_trace both posix_writev
expect_no_trace both posix_create
expect_no_trace both rot13_writev

expect_error "the graph has no volume 'nosuch'; there are .*posix" "$WINDLASS" trace start "$MNT" \
    --translator nosuch
expect_error "the graph has no volume 'rot-31-1'; did you mean 'rot-13-1'" "$WINDLASS" trace start \
    "$MNT" --translator rot-31-1
expect_error "'writv' is no operation; did you mean 'writev'" "$WINDLASS" trace start "$MNT" --fop \
    writv
expect_error "'pid' must be .*, got '0'" "$WINDLASS" trace start "$MNT" --pid 0
expect_error "'pid' must be .*, got 'me'" "$WINDLASS" trace start "$MNT" --pid me
expect_error "no trace is on" "$WINDLASS" trace stop "$MNT"
# The filter goes with the mount to another graph.
expect_ok "$WINDLASS" trace start "$MNT" --translator posix
stack encryption/rot-13
expect_match "the reload" '^the mount has moved' "$("$WINDLASS" reload "$MNT")"
echo three >"$MNT/three"
expect_ok "$WINDLASS" trace stop "$MNT"
trace_cat moved --all
expect_trace moved posix_writev rot13_writev
expect_no_trace moved rot13_rotate
unmount
