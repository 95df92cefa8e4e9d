#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass top: what keeps the mount busy, as tables and in a terminal; it leaves nothing switched
# on, also when it is killed.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"

top () {
    "$WINDLASS" top "$@"
}

measuring () {
    "$WINDLASS" stats "$MNT" 2>/dev/null | sed -n 's/^windlass_measuring //p'
}

stack encryption/rot-13
mount_volfile "$VOL"
mkdir "$MNT/dir"
head -c 1M /dev/zero >"$MNT/dir/$(printf 'busy\033[2J')"

# Idle: nothing but a sentence, as one table too; no bricks.
said=$(top "$MNT" --count 1 --interval 0.3)
expect "an idle mount" "no request was answered in this time" "$(sed '1d; /^$/d' <<<"$said")"
expect "one table" "no request was answered in this time" \
    "$(top "$MNT" --count 1 --interval 0.3 --by path | sed '1d; /^$/d')"
expect_match "bricks" '^no volume is of type protocol/client' \
    "$(top "$MNT" --count 1 --interval 0.3 --by brick)"

# A process reads and fails for as long as top looks.
while :; do
    cat "$MNT"/dir/* "$MNT/missing" >/dev/null 2>&1
    echo hello >"$MNT/dir/written"
    echo hello >"$MNT/dir/gone"
    rm "$MNT/dir/gone"
done &
load=$!
trap 'status=$?; kill $load 2>/dev/null; (exit $status); cleanup' EXIT
[ "$(measuring)" = 0 ] || fail "it is measured before anybody looks"
said=$(top "$MNT" --count 2 --interval 0.5) || fail "top: $said"
[ "$(grep -c '^windlass top: .*, measured only while top runs$' <<<"$said")" = 2 ] ||
    fail "two looks were wanted: $said"
expect_match "translators" '^posix +[1-9][0-9.]+ +[1-9][0-9.]* +[0-9.]+.?s ' "$said"
expect_match "translators" '^rot-13-1 ' "$said"
expect_match "operations" '^lookup +[1-9]' "$said"
expect_match "a path, without what a terminal acts on" '^/dir/busy\?\[2J +[1-9]' "$said"
expect_match "processes" '^[0-9]+ ' "$said"
# What is gone has the name that it had; and one row.
said=$(top "$MNT" --count 2 --interval 1 --by path) || fail "top: $said"
expect_match "a file that is gone" '^/dir/gone +[0-9]' "$said"
expect_no_match "without a name" '^\(forgotten\)' "$said"
said=$(top "$MNT" --count 1 --interval 1 --by process) || fail "top: $said"
expect "one row of a program that ended" 1 "$(grep -c '^cat (ended)' <<<"$said")"
expect_match "what that is" '^\(ended\): all processes of that program that have ended' "$said"
expect_no_match "without a name" '^[0-9]* ?\(ended\) |^[0-9]+ cat \(ended\)' "$said"
wait_until '[ "$(measuring)" = 0 ]'
only=$(top "$MNT" --batch --count 1 --interval 0.3 --by fop --sort name)
expect_match "operations" '^fop ' "$only"
expect_no_match "nothing else" '^(translator|path|process) ' "$only"
names=$(sed '1,2d; s/ .*//; /^$/d' <<<"$only")
expect "sorted by name" "$(LC_ALL=C sort <<<"$names")" "$names"

# What was on stays on.
expect_ok "$WINDLASS" stats "$MNT" --on
expect_ok top "$MNT" --count 1 --interval 0.2
expect "after top" 1 "$(measuring)"
expect_ok "$WINDLASS" stats "$MNT" --off

# One that is killed renews no lease; one that is told to end says so.
"$WINDLASS" top "$MNT" --batch --interval 30 >/dev/null &
other=$!
wait_until '[ "$(measuring)" = 1 ]'
kill -TERM $other
wait $other
expect "after a signal" 0 "$(measuring)"
"$WINDLASS" tell "$MNT" - stats - <<<"top 5" >/dev/null || fail "no lease"
expect "with a lease" 1 "$(measuring)"
wait_until '[ "$(measuring)" = 0 ]'

# In a terminal.
if command -v script >/dev/null; then
    { sleep 1; printf 'fpos'; sleep 1; printf q; } |
        TERM=xterm timeout 20 script -qec "$WINDLASS top $MNT --interval 0.3" screen >/dev/null ||
        fail "top in a terminal"
    grep -aq 'built without ncurses' screen || grep -aq 'translators  f operations' screen ||
        fail "this is no screen"
    [ "$(measuring)" = 0 ] || fail "it is still measured"
fi

# 80 columns have all numbers, and a line does not go on in the next one.
if command -v tmux >/dev/null; then
    in_tmux () { tmux -S "$TEST_DIR/tmux" "$@"; }
    in_tmux -f /dev/null new-session -d -x 80 -y 24 "$WINDLASS top $MNT --interval 0.3"
    wait_until 'in_tmux capture-pane -p | grep -Eq "^posix .*[0-9]%$"'
    expect "lines that are no row" "" \
        "$(in_tmux capture-pane -p | sed '1,4d; $d' | grep -Ev '^[a-z].{27}( +[0-9.]+){2}( +[0-9.]+.?s){3} +[0-9]+%$|^ *$')"
    in_tmux send-keys q
    wait_until '! in_tmux list-sessions 2>/dev/null'
fi

# What is wrong.
expect_error "is not a mount point" top "$BACK"
expect_error "must be one of translator, fop, path, process, brick, got 'proces'; did you mean 'process'" \
    top "$MNT" --by proces
expect_error "0.1 to 45" top "$MNT" --interval 0
expect_error "1 or more" top "$MNT" --count 0
expect_error "which mount point" top
expect_error "1 to 60 seconds" "$WINDLASS" tell "$MNT" - stats - <<<"top 100"
kill $load
wait $load 2>/dev/null || :

# A mount that ends while top looks at it.
top "$MNT" --batch --interval 0.2 >tables 2>said &
other=$!
wait_until '[ -s tables ]'
unmount
wait $other
expect "the status of top after the end of the mount" 1 $?
expect_match "what it says" "^windlass top: the mount at '$MNT' has ended: it was unmounted" \
    "$(cat said)"
