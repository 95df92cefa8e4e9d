#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over md-cache and nl-cache: alone, twice, with each other, over and below others, with errors of storage.
# builds: debug asan
. "$(dirname "$0")/../mount/lib.sh"

md=performance/md-cache,md-cache-timeout=60,xattr-cache-list=user.*
nl=performance/nl-cache,nl-cache-positive-entry=on
behind=performance/write-behind

pass () { # SEED OPTIONS TYPE...: histories of that stack
    local seed=$1 options=$2
    shift 2
    stack "$@"
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed "$seed" $options || fail "over storage: $*"
}

pass 1 '--histories 60' "$md"
pass 2 '--histories 25 --faults 50' "$md" "$md"
pass 3 '--histories 25' $behind "$md"
pass 4 '--histories 25' "$md" encryption/rot-13
pass 5 '--histories 40' "$nl"
pass 6 '--histories 25 --faults 50' "$nl" "$nl"
pass 7 '--histories 25 --faults 20' $behind "$md" "$nl" encryption/rot-13
pass 8 '--histories 25' "$nl" "$md" $behind
