#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each example volfile passes the kit in the process: every operation, answered at once and in any
# order. ./check tries the client stack, rot-13 and a few others.
# longer
. "$(dirname "$0")/../mount/lib.sh"
status=0
for volfile in "$SOURCE_DIR"/volfiles/$(amount '[crw]*' '*').vol; do
    options=()
    grep -q 'type protocol/client' "$volfile" && continue # has its files on a server
    case ${volfile##*/} in
        audit.vol) options=(--xlator-option "audit.log-directory=$TEST_DIR") ;;
        delay-gen.vol) options=(--xlator-option delay-gen.delay-duration=100) ;;
        # One in a hundred would fail, as it is to.
        error-gen.vol) options=(--xlator-option error-gen.failure=0) ;;
        # unit/conform-refusals has it on.
        read-only.vol) options=(--xlator-option read-only.read-only=off) ;;
    esac
    "$WINDLASS" conform --in-process --case "in-process/@(straight|mixed)/+([a-z_])" \
        "${options[@]}" "$volfile" >out 2>&1 && continue
    echo "${volfile##*/}:"
    cat out
    status=1
done
exit $status
