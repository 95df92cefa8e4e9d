#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over caches of pages: alone, twice in one stack, above and below translators that
# change bytes or answer early, with errors of storage. Pages are small, so that files of histories
# have several. Seeds that are multiples of 3 read in order.
# longer
. "$(dirname "$0")/../mount/lib.sh"

BACK=/nowhere
ahead=performance/read-ahead,page-size=4KB
behind=performance/write-behind
cache=performance/io-cache

run () { # WHAT OPTION...
    local what=$1
    shift
    out=$("$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" "$@") || fail "$what: $out"
}

n=0
while read -r -a types; do
    stack "${types[@]}"
    n=$((n + 1))
    run "${types[*]}" --seed $((n * 1000)) --histories "$(amount 4 24)"
    run "${types[*]}, with errors" --seed $((n * 1000 + 500)) --histories "$(amount 2 8)" --faults \
        50
done <<END
$ahead,page-count=3,memory-limit=64KB
$ahead $ahead
$behind $ahead
$ahead $behind
$ahead encryption/rot-13
$cache
$cache $cache
$behind $ahead $cache
$cache,cache-timeout=0 encryption/rot-13 $behind
END
