#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories: storage and rot-13 pass them, wrong translators do not. A failing history is
# made short and can be repeated, and a seed gives the same history at any time and beside any load.
# longer
# timeout: 400
. "$(dirname "$0")/../mount/lib.sh"

stack () { # NAME TYPE [LINE]...: a volfile of that type over storage
    printf 'volume posix\n    type storage/posix\n    option directory /nowhere\nend-volume\n' \
        >"$TEST_DIR/$1.vol"
    [ "$2" ] && printf 'volume top\n    type %s\n%s\n    subvolumes posix\nend-volume\n' "$2" \
        "${3-}" >>"$TEST_DIR/$1.vol"
    return 0
}

run () { # NAME OPTION...: histories of that stack
    local name=$1
    shift
    "$WINDLASS" conform "$TEST_DIR/$name.vol" --case history -d "$TEST_DIR" "$@"
}

stack posix ''
stack rot-13 encryption/rot-13
stack cache test/cache
stack write-behind test/early '    option reorders off'
stack slow test/slow
stack slow-thread test/slow '    option threaded on'
stack stale-write test/cache '    option ignores writev'
stack stale-truncate test/cache '    option ignores truncate'
stack late-read test/cache '    option late readv'
stack late-attributes test/cache '    option late fstat'
stack lost-append test/noappend
stack reordered test/early
cp "$TEST_DIR/rot-13.vol" "$TEST_DIR/twice.vol"
printf 'volume again\n    type encryption/rot-13\n    subvolumes top\nend-volume\n' \
    >>"$TEST_DIR/twice.vol"

# The model and the bare directory agree, one client at a time.
run posix --seed 1 --histories "$(amount 30 120)" --clients 1 --steps 40 ||
    fail "the model differs from storage"

# An hour for each call is no time at all: slow and slow-thread would need weeks.
for right in posix rot-13 twice cache write-behind slow slow-thread; do
    run $right --seed 1 --histories "$(amount 5 25)" || fail "$right does not pass"
done
run twice --seed 1 --histories "$(amount 5 25)" --faults 50 ||
    fail "errors of storage break more than what they hit"

# Each is found, and shrunk to six lines at most; the command that is printed finds it again.
for wrong in $(amount "stale-write late-read" \
    "stale-write stale-truncate late-read late-attributes lost-append reordered"); do
    out=$(run $wrong --seed 2000 --histories 4000) && fail "$wrong passes"
    echo "$out"
    file=$(sed -n "s/.*--history '\([^']*\)'.*/\1/p" <<<"$out")
    lines=$(grep -c ' c[0-9]' "$file")
    [ "$lines" -le 6 ] || fail "the shortest history of $wrong has $lines lines"
    again=$(run $wrong --history "$file") && fail "$wrong passes what it failed"
    expect "$wrong fails as before" "$(grep -v '^ok\|^FAIL\|passed\|the history' <<<"$out")" \
        "$(grep -v '^ok\|^FAIL\|passed\|the history' <<<"$again")"
done

# The same, alone and beside others.
sums () { run twice -v --seed 77 --histories 30 --faults 20 | grep '^ok'; }
sums >"$TEST_DIR/alone"
for i in 1 2 3; do sums >"$TEST_DIR/beside$i" & done
wait
for i in 1 2 3; do cmp "$TEST_DIR/alone" "$TEST_DIR/beside$i" || fail "a seed does not repeat"; done
expect "how many are told with their sums" 30 \
    "$(grep -c 'operations, [0-9a-f]*$' "$TEST_DIR/alone")"

# What can't be a history is refused, with its line.
printf 'seed 1\nclients 2\n1 c3 read f0 0 8\n' >"$TEST_DIR/bad"
expect_match "what is wrong with it" "bad:3: a client is c1" \
    "$(run posix --history "$TEST_DIR/bad" 2>&1)"
