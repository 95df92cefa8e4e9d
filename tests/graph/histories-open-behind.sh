#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over open-behind, alone, twice, and over and below others: late opens change
# nothing but time.
# longer
. "$(dirname "$0")/histories-lib.sh"

behind=performance/open-behind

run 11 -- $behind
run 12 --faults 50 -- $behind
run 13 -- $behind,lazy-open=no
run 14 -- $behind $behind
run 15 --faults 50 -- performance/write-behind $behind
run 16 -- encryption/rot-13 $behind performance/write-behind
