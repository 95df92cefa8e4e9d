#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Three copies on bricks pass the conformance kit as a single brick does: mount/brick/conform.
# through: io_uring
# longer
# timeout: 900
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile
cases=$(amount '@(data|mapped|special)/*' '!(offsets|unlinked|concurrent)/*')
out=$("$WINDLASS" conform --mount --as root --directory "$TEST_DIR" --case "$cases" \
    --allow "$SOURCE_DIR/tests/mount/brick/brick.allow" "$VOL") || fail "$out"
expect_match "what the kit says" '^[0-9]+ passed, 0 failed, 0 skipped, [0-9]+ differ by design$' \
    "$out"
wait_until no_marks
expect_equal_copies "after the cases"
