#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick is lost when it gets the pre-op of a write, before it has seen a change. The other copies
# take their dirty counters back: nothing was changed under them, so nothing needs heal.
. "$(dirname "$0")/lib.sh"

bricks_begin
relay c2
replicate_volfile
mount_volfile "$VOL"
echo before >"$MNT/file"
wait_until no_marks
tell_client close 34 # GFS3_OP_FXATTROP
echo after >>"$MNT/file" || fail "a write failed"
wait_until "grep -q 'lost the connection to brick 127.0.0.1:c2' '$LOG'"
wait_until "! marks c0 c1 | grep -q dirty"
wait_until "'$WINDLASS' explain '$MNT/file' | grep -q 'there: c0, c1, c2'"
expect_ok "$WINDLASS" heal "$MNT" file
wait_until no_marks
expect_equal_copies
unmount
