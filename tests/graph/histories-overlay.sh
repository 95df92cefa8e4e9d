#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over cluster/overlay: with empty lowers, and with files in one lower or in two,
# which stay as they are; with errors of storage.
# longer
. "$(dirname "$0")/overlay-lib.sh"

overlay lower
run 1
run 101 --lowers
run 201 --lowers --faults 50
again 188 --
again 143 521 1121 1293 5475 9225 -- --lowers
again 673 -- --lowers --faults 50
# A name is made in a directory while a rename replaces that: one of the two fails.
for seed in {41..48}; do
    printf '%s\n' "seed $seed" 'clients 2' '1 c1 rename d e -' '2 c2 mkdir e/a 0755' >replaces
    "$WINDLASS" conform "$VOL" --case history --history replaces -d "$TEST_DIR" --lowers ||
        fail "a name in a directory that is replaced does not pass with seed $seed"
done
overlay upper-lower lower
run 301 --lowers
run 401 --lowers --faults 50
again 143 2065 -- --lowers
again 1633 -- --lowers --faults 50
