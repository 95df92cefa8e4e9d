# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over a stack of translators.
. "$(dirname "$0")/../mount/lib.sh"

BACK=/nowhere # the kit has a storage of its own

# run SEED OPTION... -- TYPE...: OPTION of windlass conform; TYPE as for stack.
run () {
    local seed=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    stack "$@"
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed "$seed" --histories \
        "$(amount 5 40)" "${options[@]}" || fail "$* does not pass"
}
