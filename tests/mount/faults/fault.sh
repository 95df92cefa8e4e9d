#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# debug/fault: rules at the start and while it is mounted; a hang ends when it is released,
# interrupted or cleared, and an unmount does not wait for it; SQLite reports a failed fsync, and
# loses nothing that it confirmed.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"

# rules TEXT: puts them in force.
rules () {
    expect_ok "$WINDLASS" fault "$MNT" - <<<"$1"
}

milliseconds () {
    echo $(($(date +%s%N) / 1000000))
}

# waiting N: until so many requests hang.
waiting () {
    wait_until "'$WINDLASS' fault '$MNT' --show | grep -q 'waiting $1\$'"
}

echo hello >"$BACK/file"
echo 'open path "*/file" nth 2 -> error ENOMEM # the second' >my.rules
stack "debug/fault,seed=1,rules=$TEST_DIR/my.rules"
mount_volfile "$VOL"
expect "the first is read" hello "$(cat "$MNT/file")"
expect_error 'Cannot allocate memory' cat "$MNT/file"
expect "the third is read" hello "$(cat "$MNT/file")"
expect "the rules and their counts" '# seed 1
# matched 3, fired 1, waiting 0
open path "*/file" nth 2 -> error ENOMEM' "$("$WINDLASS" fault "$MNT" --show)"

# While it is mounted; bad ones change nothing.
echo 'open process "cat" -> error EACCES' >other.rules
expect_ok "$WINDLASS" fault "$MNT" other.rules
expect_error 'Permission denied' cat "$MNT/file"
expect "another process may" hello "$(head -n 1 "$MNT/file")"
printf 'open -> error EIO\nopne -> error EIO\n' >bad.rules
expect_error "bad.rules:2:1: .*'opne'; did you mean 'open'" "$WINDLASS" fault "$MNT" bad.rules
expect_error 'Permission denied' cat "$MNT/file"
expect_ok "$WINDLASS" fault "$MNT" --clear
expect "nothing goes wrong any more" hello "$(cat "$MNT/file")"

# Delays don't block a thread: many at once, and others meanwhile.
rules 'open process "cat" -> delay 1s'
begin=$(milliseconds)
for i in {1..20}; do cat "$MNT/file" >>delayed & done
head -n 1 "$MNT/file" >/dev/null
meanwhile=$(($(milliseconds) - begin))
wait
took=$(($(milliseconds) - begin))
echo "20 delays of 1000 ms: $took ms; another meanwhile: $meanwhile ms"
[ $took -ge 1000 ] && [ $took -lt 8000 ] || fail "20 delays of a second at once took $took ms"
expect "all were answered" 20 "$(wc -l <delayed)"

# A hang: released, interrupted, cleared.
rules 'open process "cat" -> hang name stuck'
cat "$MNT/file" >released &
reader=$!
waiting 1
expect_error "no rule has 'hang name stick'; did you mean 'stuck'" "$WINDLASS" fault "$MNT" \
    --release stick
expect "how many were released" 'released 1' "$("$WINDLASS" fault "$MNT" --release stuck)"
wait $reader || fail "what was released fails"
expect "what was released" hello "$(cat released)"
cat "$MNT/file" &
reader=$!
waiting 1
kill $reader
wait $reader
waiting 0
cat "$MNT/file" >cleared &
reader=$!
waiting 1
expect_ok "$WINDLASS" fault "$MNT" --clear
wait $reader || fail "what hung by rules that are gone fails"

# The end of the mount waits for nothing that hangs.
rules 'open process "cat" -> hang'
cat "$MNT/file" 2>said &
reader=$!
waiting 1
begin=$(milliseconds)
kill "$DAEMON"
wait_until "! is_running $DAEMON"
DAEMON=''
! wait $reader || fail "what hung at the end didn't fail"
took=$(($(milliseconds) - begin))
echo "the end of the mount while a request hangs: $took ms"
[ $took -lt 5000 ] || fail "the end of the mount took $took ms"
expect_no_match "nothing was left unanswered" unanswered "$(cat "$LOG")"

# Bad rules don't mount, and check finds them.
cp bad.rules my.rules
expect_error "my.rules:2:1" "$WINDLASS" check "$VOL"
expect_error "my.rules:2:1" "$WINDLASS" -f "$VOL" "$MNT"

# SQLite: each failing fsync is said, and what was confirmed stays.
command -v sqlite3 >/dev/null || exit 0
echo 'fsync path "/db*" every 5 -> error EIO' >my.rules
mount_volfile "$VOL"
expect_ok sqlite3 "$BACK/db" 'pragma synchronous=full; create table t (n integer primary key)'
confirmed=()
failed=0
for n in {1..25}; do
    if sqlite3 -bail "$MNT/db" \
        "pragma synchronous=full; insert into t values ($n)" 2>>said; then confirmed+=("$n");
        else failed=$((failed + 1)); fi
done
echo "confirmed: ${#confirmed[@]}, failed: $failed"
[ $failed -ge 3 ] && [ ${#confirmed[@]} -ge 3 ] ||
    fail "of 25 inserts $failed failed and ${#confirmed[@]} were confirmed"
expect_match "SQLite says why" 'disk I/O error' "$(cat said)"
expect_ok "$WINDLASS" fault "$MNT" --clear
expect "the database is whole" ok "$(sqlite3 "$MNT/db" 'pragma integrity_check')"
sqlite3 "$MNT/db" 'select n from t' >there
for n in "${confirmed[@]}"; do
    grep -qx "$n" there || fail "$n was confirmed, and is lost"
done
unmount
