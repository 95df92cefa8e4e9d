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

# histories SEED COUNT OPTION...
histories () {
    local seed=$1 count=$2
    shift 2
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed "$seed" --histories "$count" \
        --allow "$SOURCE_DIR/tests/graph/overlay.allow" "$@" || fail "$* does not pass"
}

# run SEED OPTION...
run () {
    local seed=$1
    shift
    histories "$seed" "$(amount 6 200)" "$@"
}

# again SEED... -- OPTION...: histories that have found a defect each.
again () {
    local seeds=()
    while [ "$1" != -- ]; do seeds+=("$1"); shift; done
    shift
    for seed in "${seeds[@]}"; do histories "$seed" 1 "$@"; done
}

overlay lower
run 1
run 101 --lowers
run 201 --lowers --faults 50
again 188 --
again 143 521 1121 1293 5475 9225 -- --lowers
again 673 -- --lowers --faults 50
overlay upper-lower lower
run 301 --lowers
run 401 --lowers --faults 50
again 143 2065 -- --lowers
again 1633 -- --lowers --faults 50
