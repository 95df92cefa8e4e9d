# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over cluster/overlay.
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

# script OPTION...: the history on stdin, as short as one goes that has found a defect.
script () {
    cat >script
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --history script \
        --allow "$SOURCE_DIR/tests/graph/overlay.allow" "$@" || fail "a script does not pass"
}
