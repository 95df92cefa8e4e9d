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
        env --default-signal=INT,PIPE "$WINDLASS" conform --directory "$TEST_DIR/scratch" $part \
            --histories 1000000 posix.vol >/dev/null &
        wait_until 'ls scratch/* 2>/dev/null | grep -q .'
        kill -$signal $!
        wait $! 2>/dev/null
        wait_until '[ -z "$(ls scratch)" ]'
    done
done

# The model knows no rights, so a history takes the search of a directory from nobody: this one
# passes for a user, too. On tmpfs the seed makes it with a chmod of the directory.
if [ "$(id -u)" = 0 ] && user test -x "$BUILD_DIR/src/windlass" && user test -w /dev/shm; then
    chmod 755 "$TEST_DIR"
    out=$(user "$WINDLASS" conform --directory /dev/shm --case history --seed 91459750 \
        --histories 1 posix.vol) || fail "a history of an ordinary user fails: $out"
fi

# What can't be read is said once, whatever parts are asked for.
for parts in '' --mount --in-process '--case history'; do
    # shellcheck disable=SC2086
    out=$(conform $parts missing.vol 2>&1) && fail "a volfile that isn't there passes"
    expect "once: $parts" 1 "$(grep -c "'missing.vol' can't be read" <<<"$out")"
done

# found DEFECT CASE REGEX: what the kit says of such a mistake.
found () {
    printf 'volume posix\n type storage/posix\n option directory /nowhere\nend-volume\n' >bad.vol
    printf 'volume bad\n type defects/pass\n option defect %s\n subvolumes posix\nend-volume\n' \
        "$1" >>bad.vol
    out=$(conform --in-process --case "in-process/$2" bad.vol)
    expect_match "$1" "$3" "$out"
}
# The place that is to blame is named, not one of the kit or the core.
found twice-on-success straight/stat \
    'answered twice: .*at .*pass.c:[0-9]+, after an answer at .*pass.c:[0-9]+$'
found never-on-success straight/stat \
    'never answered: .*its wind at .*pass.c:[0-9]+ was answered, to pass_stat_cbk \(pass.c:'
found inode-leak straight/stat \
    'reference leaked: defects/pass: 1 inode reference not released; taken at pass_stat \(pass.c:[0-9]+\)$'
# What only shows where a call below fails, and which that was.
found twice-on-rename-error failing/rename 'answered twice: .*rename: at .*pass.c:'
found rename-error-swallowed failing/rename \
    'with a failure below: rename: call 1, rename to .posix. \(storage/posix\), from .*pass.c:[0-9]+, failed with EIO'

# A graph that is too slow is told once, and who makes it so.
printf 'volume posix\n type storage/posix\n option directory /nowhere\nend-volume\n' >slow.vol
printf 'volume slow\n type debug/delay-gen\n option delay-percentage 100\n%s\n%s\nend-volume\n' \
    ' option delay-duration 5000000' ' subvolumes posix' >>slow.vol
out=$(conform --in-process slow.vol) && fail "a slow graph passes"
expect_match "who is slow" \
    "too slow: 'slow' \\(debug/delay-gen\\), .*: no tree could be made: it has not answered within \
3 s\. Each call must end in STACK_UNWIND or a wind; if this one does, make its delay shorter" \
    "$out"
expect_match "the others" '0 passed, 1 failed, 1 skipped' "$out"

# A history that fails once, and passes while it is shortened, is told as it failed.
printf 'volume posix\n type storage/posix\n option directory /nowhere\nend-volume\n' >once.vol
printf 'volume once\n type defects/pass\n option defect aborts-once\n%s\n%s\nend-volume\n' \
    " option once $TEST_DIR/once" ' subvolumes posix' >>once.vol
out=$(conform --case history --histories 20 --steps 9 --seed 1 once.vol) &&
    fail "a history that fails once passes"
expect_match "its failure" 'it (was killed by Aborted|ended with status)' "$out"
expect_match "its script" 'the history at full length: it did not fail again' "$out"
expect_match "its seed" 'seed [0-9]+' "$out"
expect_match "its last line" '^ *9( |:)' "$out"
expect_match "the command" 'repeat: .* --history ' "$out"

# Differences that an author allows count as by design, in the process and in histories, and all
# others still fail.
printf 'volume posix\n type storage/posix\n option directory /nowhere\nend-volume\n' >bad.vol
printf 'volume bad\n type defects/pass\n option defect %s\n subvolumes posix\nend-volume\n' \
    offset-ignored >>bad.vol
printf '%s\n' '# reads' 'case in-process/*/readv/offset=4095' 'line vector: *' \
    'why  it reads from the start' '' 'case history' 'line *: readv *' 'why  so do histories' >allow
printf 'case x\nline y\n' >half
printf 'case x\nlines y\n' >wrong
out=$(conform --in-process --case 'in-process/straight/readv/offset=4095' bad.vol) &&
    fail "it passes without --allow"
expect_match "it would be told" 'result differs: .*readv' "$out"
out=$(conform --in-process --allow allow --case 'in-process/straight/readv/offset=409[5-7]' \
    bad.vol) && fail "what isn't allowed passes"
expect_match "one is allowed" '^0 passed, 2 failed, 0 skipped, 1 differ by design$' "$out"
out=$(conform --allow allow --case history --histories 50 --seed 1 bad.vol) ||
    fail "histories fail where it is allowed: $out"
expect_match "they go on" '^[0-9]+ passed, 0 failed, 0 skipped, [1-9][0-9]* differ by design$' \
    "$out"
out=$(conform --allow allow --in-process --case 'in-process/straight/readv/offset=4096' bad.vol)
expect_match "the command that repeats it" 'repeat: .* --allow allow' "$out"
expect_error "half:1:1: this paragraph has no 'why'" conform --allow half posix.vol
expect_error "wrong:2:1: 'lines y': a line begins with 'case', 'line'" conform --allow wrong posix.vol
