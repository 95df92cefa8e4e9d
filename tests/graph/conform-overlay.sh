#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cluster/overlay passes what storage alone passes, in the kit in the process: with an empty lower,
# and with all files of a case in the lower, so that each change copies first.
# longer
. "$(dirname "$0")/../mount/overlay/lib.sh"

# A sync on a busy disk may take longer than the kit waits for an answer: hence a tmpfs.
mkdir -p "$UPPER"
[ "$(id -u)" != 0 ] || mount -t tmpfs none "$UPPER" || skip "needs to mount a tmpfs"
overlay_volfile
# run CASES OPTION...
run () {
    local cases=$1
    shift
    "$WINDLASS" conform --in-process --case "$cases" "$@" "$VOL" >out 2>&1 ||
        fail "$(tail -n 40 out)"
    expect_match "cases of $cases $*" '^[1-9][0-9]+ passed, 0 failed' "$(tail -n 1 out)"
}

# A device 0:0, which the cases of mknod make, would be a whiteout: mount/overlay/copy-up.
straight=$(amount 'in-process/straight/+([a-z_])' 'in-process/straight/!(mknod*)')
run "$straight"
run 'in-process/@(late|mixed)/+([a-z_])'
run 'in-process/straight/+([a-z_])' --lowers --allow "$SOURCE_DIR/tests/graph/overlay.allow"
