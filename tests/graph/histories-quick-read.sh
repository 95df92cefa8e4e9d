#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over quick-read, alone, twice, above and below others: content from memory equals
# the content of storage.
# longer
. "$(dirname "$0")/histories-lib.sh"

behind=performance/open-behind
quick=performance/quick-read

run 21 -- $quick,content-with-lookup=on
run 22 --faults 50 -- $quick,cache-timeout=600,content-with-lookup=on
run 23 -- $quick $quick
run 24 --faults 50 -- performance/write-behind $behind $quick,cache-timeout=600,content-with-lookup=on
run 25 -- encryption/rot-13 $quick performance/write-behind
run 26 -- $quick,cache-size=16KB,max-file-size=8KB $behind encryption/rot-13
