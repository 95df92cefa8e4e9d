#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A move to another graph waits for no request that only a fault, a delay or another owner of a lock
# keeps: the fault can be taken out. A request that hinders the move is named.
# builds: release debug tsan
# timeout: 120
. "$(dirname "$0")/../lib.sh"

# moves WHAT SPEC...: the mount moves to a stack of these, and no program waits for long meanwhile.
moves () {
    local what=$1 since=$SECONDS
    shift
    stack "$@"
    "$WINDLASS" reload "$MNT" >answer 2>&1 || fail "a reload while $what: $(cat answer)"
    expect_match "what is said while $what" '^the mount has moved to its new graph: ' \
        "$(cat answer)"
    [ $((SECONDS - since)) -lt 8 ] || fail "a reload while $what took $((SECONDS - since)) s"
}

waits_for () {
    wait_until "'$WINDLASS' inflight '$MNT' | grep -q 'waits for: $1'"
}

# --- hanging operations ---------------------------------------------------------------------------

echo 'read process cat -> hang' >rules
stack "debug/fault,rules=$TEST_DIR/rules"
mount_volfile "$VOL" --lock-forwarding=on
echo text >"$MNT/file"
cat "$MNT/file" >read &
reader=$!
waits_for "a release: it hangs"
moves "an operation hangs" encryption/rot-13 encryption/rot-13
wait $reader || fail "the operation that hung fails"
expect "what it reads" text "$(cat read)"
expect "what others read" text "$(cat "$MNT/file")"

# Rules apply in the new graph, too, to requests that come after the move.
echo 'fsync -> hang' >rules
moves "nothing waits" "debug/fault,rules=$TEST_DIR/rules"
sync "$MNT/file" &
syncer=$!
waits_for "a release: it hangs"
moves "an operation hangs" test/pass "debug/fault,rules=$TEST_DIR/rules"
wait $syncer || fail "the operation that hung fails"
sync "$MNT/file" &
syncer=$!
waits_for "a release: it hangs"
kill $syncer
wait $syncer

# Rules that a command has set stay, with their counts, and hold for files of the old graph, too: here
# for a removed one.
moves "nothing waits" debug/fault
"$WINDLASS" fault "$MNT" - <<<'fsync nth 2 -> hang name late' >/dev/null || fail "no rules"
sync "$MNT/file"
exec 5>"$MNT/removed"
rm "$MNT/removed"
moves "a rule has matched once" debug/fault test/pass
expect "the rules after the reload" "# matched 1, fired 0, waiting 0
fsync nth 2 -> hang name late" "$("$WINDLASS" fault "$MNT" --show | sed 1d)"
python3 -c 'import os; os.fsync (5)' &
syncer=$!
waits_for "a release: it hangs"
expect_match "the rules" '^# matched 2, fired 1, waiting 1$' "$("$WINDLASS" fault "$MNT" --show)"
expect "released in the old graph" "released 1" "$("$WINDLASS" fault "$MNT" --release late)"
wait $syncer || fail "the operation that hung fails"
exec 5>&-

# --- delays ---------------------------------------------------------------------------------------

for block in off on; do
    moves "nothing waits" \
        "debug/delay-gen,delay-percentage=100,delay-duration=3600000000,enable=fsync,block=$block"
    sync "$MNT/file" &
    syncer=$!
    wait_until "'$WINDLASS' inflight '$MNT' | grep -q ': fsync of'"
    moves "a request is delayed" test/pass
    wait $syncer || fail "the delayed request fails"
done

# --- locks ----------------------------------------------------------------------------------------

for kind in fcntl flock; do
    lock_begin $kind "$MNT/file" "$MNT/file"
    waits_for 'a .*lock'
    moves "a program waits for a lock" test/pass test/pass
    expect_match "what is said of the file" '^1 files stay with the old graph' "$(cat answer)"
    waits_for 'a .*lock'
    moves "a program waits for a lock in an old graph" test/pass
    lock_pass
    expect "a third owner" EAGAIN "$("$PROGRAMS/lock" $kind write try "$MNT/file" </dev/null)"
    lock_end
    wait_until "grep -q 'no file uses the old graph any more' '$LOG'"
    : >"$LOG"
done

# --- a request in the way -------------------------------------------------------------------------

# test/blocks does not set a call aside that waits for a lock: it keeps the thread.
moves "nothing waits" test/blocks
lock_begin fcntl "$MNT/file" "$MNT/file"
wait_until "'$WINDLASS' inflight '$MNT' | grep -q \"now at: .*'blocks-1'\""
stack test/pass
expect_error "^lk of /file by lock \\($waiter\\) was under way for [0-9.]+ s, in 'blocks-1', where it \
waits for .*; it hindered the move for 10 s; 'windlass inflight $MNT' lists all requests$" \
    "$WINDLASS" reload "$MNT"
expect "what others read" text "$(cat "$MNT/file")"
lock_pass
moves "a program has a lock" test/pass
lock_end
unmount
