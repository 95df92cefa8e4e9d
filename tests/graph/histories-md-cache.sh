#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over md-cache and nl-cache: alone, twice, with each other, over and below others,
# with errors of storage.
# longer
. "$(dirname "$0")/../mount/lib.sh"

md=performance/md-cache,md-cache-timeout=60,xattr-cache-list=user.*
nl=performance/nl-cache,nl-cache-positive-entry=on
behind=performance/write-behind

pass () { # SEED OPTIONS TYPE...: histories of that stack
    local seed=$1 options=$2
    shift 2
    stack "$@"
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed "$seed" $options ||
        fail "over storage: $*"
}

# A rename between two names of one file does nothing: the old name stays, as a link of the file.
printf '%s calm\n' '1 c1 create f0 a rw 0644' '2 c1 create f1 b rw 0644' '3 c1 link a d' \
    '4 c1 rename d a -' '5 c1 stat d' \
    '6 c1 rename b d -' '7 c1 fstat f0' '8 c1 stat a' '9 c1 stat d' >links
sed -i '1iseed 1\nclients 1' links
pass 1 '--history links' "$md"
sed -i 's/^5 c1 stat d/5 c1 stat a/' links
pass 1 '--history links' "$md"
sed -i 's/^5 c1 stat a/5 c1 stat d/' links
pass 1 '--history links' "$nl"

pass 1 "--histories $(amount 6 60)" "$md"
pass 2 "--histories $(amount 3 25) --faults 50" "$md" "$md"
pass 3 "--histories $(amount 3 25)" $behind "$md"
pass 4 "--histories $(amount 3 25)" "$md" encryption/rot-13
pass 5 "--histories $(amount 4 40)" "$nl"
pass 6 "--histories $(amount 3 25) --faults 50" "$nl" "$nl"
pass 7 "--histories $(amount 3 25) --faults 20" $behind "$md" "$nl" encryption/rot-13
pass 8 "--histories $(amount 3 25)" "$nl" "$md" $behind
