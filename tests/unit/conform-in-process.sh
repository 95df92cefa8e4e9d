#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each example volfile passes the kit in the process: every operation, answered at once and in any order.
# builds: debug
# timeout: 300
set -u
cd "$TEST_DIR" || exit 1
status=0
for volfile in "$SOURCE_DIR"/volfiles/*.vol; do
    options=()
    case ${volfile##*/} in
        delay-gen.vol) options=(--xlator-option delay-gen.delay-duration=100) ;;
        error-gen.vol) options=(--xlator-option error-gen.failure=0) ;; # one in a hundred would fail, as it is to
    esac
    "$WINDLASS" conform --in-process --case "in-process/@(straight|mixed)/+([a-z_])" "${options[@]}" "$volfile" >out 2>&1 && continue
    echo "${volfile##*/}:"
    cat out
    status=1
done
exit $status
