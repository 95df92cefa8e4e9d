#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mounted volume of two bricks passes the conformance kit, but for what is the bricks' or the
# protocol's: brick.allow. The themes that mount/brick/conform leaves out are left out here, too.
# longer
# timeout: 900
. "$(dirname "$0")/../brick/lib.sh"

for name in a b; do
    brick $name
done
distribute_volfile "$VOL" a b
cases=$(amount '@(directories|permissions|rename)/*' '!(offsets|unlinked|concurrent)/*')
out=$("$WINDLASS" conform --mount --as root --directory "$TEST_DIR" --case "$cases" \
    --allow "$SOURCE_DIR/tests/mount/brick/brick.allow" "$VOL") || fail "$out"
expect_match "what the kit says" '^[0-9]+ passed, 0 failed, 0 skipped, [0-9]+ differ by design$' \
    "$out"
