#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over open-behind, alone, twice, and over and below others: late opens change
# nothing but time.
# longer
. "$(dirname "$0")/../mount/lib.sh"

BACK=/nowhere
behind=performance/open-behind
run () { # SEED OPTION... -- TYPE...
    local seed=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    stack "$@"
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed "$seed" --histories \
        "$(amount 5 40)" "${options[@]}" || fail "$* does not pass"
}

run 11 -- $behind
run 12 --faults 50 -- $behind
run 13 -- $behind,lazy-open=no
run 14 -- $behind $behind
run 15 --faults 50 -- performance/write-behind $behind
run 16 -- encryption/rot-13 $behind performance/write-behind
