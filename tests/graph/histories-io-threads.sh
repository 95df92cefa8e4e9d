#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over stacks with io-threads, which has a pool of threads: alone, twice, over and
# below others, with few threads that come and go, with errors below. All operations are handed
# over, except where a row says otherwise.
# builds: tsan debug
# longer
. "$(dirname "$0")/../mount/lib.sh"

stack () { # NAME TYPE[:OPTION VALUE]...: storage, and each on top of the one before
    local name=$1 below=posix n=0 type line
    shift
    printf 'volume posix\n    type storage/posix\n    option directory /nowhere\nend-volume\n' \
        >"$TEST_DIR/$name.vol"
    for type in "$@"; do
        n=$((n + 1))
        {
            printf 'volume v%s\n    type %s\n' "$n" "${type%%:*}"
            while read -r line; do printf '    option %s\n' "$line";
                done < <(tr ':' '\n' <<<"$type" | tail -n +2)
            printf '    subvolumes %s\nend-volume\n' "$below"
        } >>"$TEST_DIR/$name.vol"
        below=v$n
    done
}

all=performance/io-threads
stack plain performance/io-threads
stack all "$all"
stack twice "$all" "$all"
stack over-rot encryption/rot-13 "$all"
stack over-writes performance/write-behind "$all"
stack below-writes "$all" performance/write-behind
stack few "$all:thread-count 2:low-prio-threads 1:idle-time 1:watchdog-secs 1"

for name in plain all twice over-rot over-writes below-writes few; do
    for faults in 0 50; do
        "$WINDLASS" conform "$TEST_DIR/$name.vol" --case history -d "$TEST_DIR" --seed \
            $((faults + 1)) --histories "$(amount 2 15)" --faults $faults ||
            fail "$name does not pass"
    done
done
