#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over cluster/overlay: with empty lowers, and with files in one lower or in two,
# which stay as they are; with errors of storage.
# longer
. "$(dirname "$0")/../mount/lib.sh"
need_root

# overlay LOWER...: writes the volfile, with so many lowers.
overlay () {
    local volume
    for volume in changes "$@"; do
        printf 'volume %s\n    type storage/posix\n    option directory /nowhere\nend-volume\n' \
            "$volume"
    done >"$VOL"
    printf 'volume overlay\n    type cluster/overlay\n    subvolumes changes %s\nend-volume\n' \
        "$*" >>"$VOL"
}

# run SEED OPTION...
run () {
    local seed=$1
    shift
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed "$seed" --histories \
        "$(amount 6 200)" --allow "$SOURCE_DIR/tests/graph/overlay.allow" "$@" || fail "$* does not pass"
}

overlay lower
run 1
run 101 --lowers
run 201 --lowers --faults 50
overlay upper-lower lower
run 301 --lowers
