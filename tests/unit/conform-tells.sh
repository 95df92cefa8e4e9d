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

# found DEFECT CASE REGEX: what the kit says of such a mistake.
found () {
    printf 'volume posix\n type storage/posix\n option directory /nowhere\nend-volume\n' >bad.vol
    printf 'volume bad\n type defects/pass\n option defect %s\n subvolumes posix\nend-volume\n' "$1" >>bad.vol
    out=$(conform --in-process --case "in-process/$2" bad.vol)
    expect_match "$1" "$3" "$out"
}
# The place that is to blame is named, not one of the kit or the core.
found twice-on-success straight/stat 'answered twice: .*at .*pass.c:[0-9]+, after an answer at .*pass.c:[0-9]+$'
found never-on-success straight/stat 'never answered: .*its wind at .*pass.c:[0-9]+ was answered, to pass_stat_cbk \(pass.c:'
found inode-leak straight/stat 'reference leaked: defects/pass: 1 inode reference not released; taken at pass_stat \(pass.c:[0-9]+\)$'
# What only shows where a call below fails, and which that was.
found twice-on-rename-error failing/rename 'answered twice: .*rename: at .*pass.c:'
found rename-error-swallowed failing/rename 'with a failure below: rename: call 1, rename to .posix. \(storage/posix\), from .*pass.c:[0-9]+, failed with EIO'

# A graph that is too slow is told once, and who makes it so.
printf 'volume posix\n type storage/posix\n option directory /nowhere\nend-volume\n' >slow.vol
printf 'volume slow\n type debug/delay-gen\n option delay-percentage 100\n option delay-duration 5000000\n subvolumes posix\nend-volume\n' >>slow.vol
out=$(conform --in-process slow.vol) && fail "a slow graph passes"
expect_match "who is slow" "too slow: 'slow' \\(debug/delay-gen\\), .*: no tree could be made: it has not answered within 3 s" "$out"
expect_match "the others" '0 passed, 1 failed, 1 skipped' "$out"
