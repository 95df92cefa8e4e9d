#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories of readdir-ahead and utime: alone, twice in one stack, over and below
# write-behind and rot-13, and with errors of storage. A listing's attributes are judged as a stat's
# are.
# longer
. "$(dirname "$0")/../mount/lib.sh"

run () { # TYPE...: histories of these over storage, with twice the options of other tests
    stack "$@"
    for faults in 0 50; do
        "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed 1 --histories \
            "$(amount 3 25)" --faults $faults ||
            fail "$* does not pass with --faults $faults"
    done
}

rda=performance/readdir-ahead
run $rda
run $rda $rda,rda-request-size=4096
run performance/write-behind $rda
run $rda performance/write-behind
run $rda encryption/rot-13
run features/utime performance/write-behind $rda
run features/utime,set-times=always
