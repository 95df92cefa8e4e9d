#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over write-behind: alone, twice, above and below rot-13, with a close that waits
# and one that does not, and with errors of storage.
# longer
. "$(dirname "$0")/../mount/lib.sh"

stack_of () { # NAME TYPE[ OPTION VALUE]...: a volfile of these over storage, the last on top
    local below=posix number=0 spec
    printf 'volume posix\n    type storage/posix\n    option directory /nowhere\nend-volume\n' \
        >"$1.vol"
    for spec in "${@:2}"; do
        number=$((number + 1))
        # shellcheck disable=SC2086
        set -- "$1" $spec
        printf 'volume v%d\n    type %s\n%s    subvolumes %s\nend-volume\n' $number "$2" \
            "${3:+    option $3 $4$'\n'}" $below >>"$1.vol"
        below=v$number
    done
}

behind=performance/write-behind
stack_of alone "$behind"
stack_of later "$behind flush-behind on"
stack_of company "$behind trickling-writes off"
stack_of twice "$behind" "$behind"
stack_of above encryption/rot-13 "$behind"
stack_of below "$behind" encryption/rot-13
for name in alone later company twice above below; do
    expect_ok "$WINDLASS" conform "$name.vol" --case history -d "$TEST_DIR" --seed 1 --histories \
        "$(amount 4 25)"
    expect_ok "$WINDLASS" conform "$name.vol" --case history -d "$TEST_DIR" --seed 500 --histories \
        "$(amount 4 25)" --faults 50
done
