#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A copy between two storages on one file system that has reflinks shares the blocks of its source:
# graph/test_copy_between, on such a file system.
# builds: debug only
. "$(dirname "$0")/../lib.sh"
need_root
[ -x "$BUILD_DIR/tests/graph/all" ] || skip "needs check (>= 0.13)"

tried=()
for type in xfs btrfs; do
    command -v "mkfs.$type" >/dev/null || continue
    truncate -s 400M disk
    "mkfs.$type" -q disk 2>err || fail "mkfs.$type: $(cat err)"
    mount -o loop disk "$BACK" 2>err || continue
    TMPDIR=$BACK TEST_REFLINK=1 "$BUILD_DIR/tests/graph/all" test_copy_between >out 2>&1 ||
        fail "$type: $(cat out)"
    expect_match "the tests on $type" '^100%: Checks: [1-9]' "$(cat out)"
    tried+=("$type")
    umount "$BACK"
    rm disk
done
[ ${#tried[@]} -gt 0 ] || skip "needs mkfs.xfs or mkfs.btrfs, and loop devices"
echo "tried: ${tried[*]}"
