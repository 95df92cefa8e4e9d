#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What `windlass conform` leaves behind when it is ended, and says when it can't begin.
. "$(dirname "$0")/../mount/lib.sh"
mkdir scratch
printf 'volume posix\n type storage/posix\n option directory /nowhere\nend-volume\n' >posix.vol
conform () {
    "$WINDLASS" conform --directory "$TEST_DIR/scratch" "$@"
}

# However it ends, nothing stays.
for signal in INT TERM PIPE KILL; do
    for part in --in-process '--case history'; do
        # shellcheck disable=SC2086
        env --default-signal=INT,PIPE "$WINDLASS" conform --directory "$TEST_DIR/scratch" $part --histories 1000000 posix.vol >/dev/null &
        wait_until 'ls scratch/* 2>/dev/null | grep -q .'
        kill -$signal $!
        wait $! 2>/dev/null
        wait_until '[ -z "$(ls scratch)" ]'
    done
done

# What can't be read is said once, whatever parts are asked for.
for parts in '' --mount --in-process '--case history'; do
    # shellcheck disable=SC2086
    out=$(conform $parts missing.vol 2>&1) && fail "a volfile that isn't there passes"
    expect "once: $parts" 1 "$(grep -c "'missing.vol' can't be read" <<<"$out")"
done
