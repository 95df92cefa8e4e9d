#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each translator that remembers, or answers early, is worth its place over storage that takes a
# millisecond. The gain required here is far less than tests/bench/run --only worth shows, so that a
# busy machine cannot break the test.
# long
# alone
. "$(dirname "$0")/../lib.sh"
need_fuse
need_root
need_command python3
need_command cc

mkdir memory
# A disk's own time to sync would come on top.
mount -t tmpfs none memory || skip "needs to mount a tmpfs"
out=$("$SOURCE_DIR/tests/bench/run" --windlass "$WINDLASS" --dir "$TEST_DIR/memory" --quick --only \
    worth --strict 2>&1) || fail "$out"
echo "$out"
expect_match "what write-behind is worth" '^sequential writes.*[0-9.]+x +3x$' "$out"
