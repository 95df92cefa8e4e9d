#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# doc/debugging.md, (d): what is slow, asked in three ways, as it stands there. Where bpftrace
# cannot work the rest is replayed all the same.
# builds: debug only
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/replay-lib.sh"
need_command gdb

without=''
if ! command -v bpftrace >/dev/null; then
    without="needs bpftrace"
elif said=$(timeout 60 bpftrace -e 'BEGIN { printf ("it works\n"); exit (); }' 2>&1);
    ! grep -q 'it works' <<<"$said"; then
    without="bpftrace can't work here: $(tail -n 1 <<<"$said")"
fi
"$WINDLASS" trace start "$TEST_DIR" 2>&1 | grep -q 'function graph' &&
    skip "needs a build with the function graph"
[ -z "$without" ] || export REPLAY_WITHOUT=bpftrace
replay doc/debugging.md d
[ -z "$without" ] || skip "all but bpftrace's part was replayed: $without"
