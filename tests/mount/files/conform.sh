#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each example volfile passes the conformance kit; the kit finds a wrong translator, and the command
# that it prints repeats the finding.
# longer
. "$(dirname "$0")/../lib.sh"
need_root
need_fuse

# A part of the cases each: same-as-bare.sh runs all of them. Listings, which take long, where a
# translator handles names. Translators that are slow, or fail, on purpose are turned off here.
for file in "$SOURCE_DIR"/volfiles/$(amount "[cr]*" "*").vol; do
    grep -q 'type protocol/client' "$file" && continue # has its files on a server
    cases='@(data|links|mapped|special)/*' options=()
    case ${file##*/} in
    client-stack.vol | md-cache.vol | nl-cache.vol | posix.vol | readdir-ahead.vol) \
        cases='@(data|directories|links|mapped|special)/*' ;;
    delay-gen.vol) cases='links/of 6*' ;;
    error-gen.vol) options=(--xlator-option error-gen.failure=0) ;;
    read-only.vol) options=(--xlator-option read-only.read-only=off) ;;
    audit.vol) options=(--xlator-option "audit.log-directory=$TEST_DIR") ;;
    trace.vol) options=(--xlator-option 'trace*.log-file=no') ;; # the kit minds what is logged
    esac
    [ -n "${TEST_LONG-}" ] || cases=${cases/directories|/}
    out=$("$WINDLASS" conform --mount --as root --directory "$TEST_DIR" --case "$cases" \
        "${options[@]}" "$file") || fail "${file##*/}: $out"
    expect_match "${file##*/}" '^[0-9]+ passed, 0 failed, 0 skipped, [0-9]+ differ by design$' \
        "$out"
done
expect "what is left of the scratch directories" "" "$(ls -d windlass-conform.* 2>/dev/null)"

stack test/wrong
conform () {
    "$WINDLASS" conform --mount --directory "$TEST_DIR" --as root "$@"
}

out=$(conform --case "$(amount 'rename/file onto*' 'rename/*')" "$VOL") &&
    fail "a translator that fails renames passes"
expect_match "the failure is named" '^FAIL rename/file onto file, as root$' "$out"
expect_match "what the bare directory says" '^    bare   rename: 0$' "$out"
expect_match "what the mount says" '^    mount  rename: EIO$' "$out"
expect_match "a rename onto nothing is right" '[1-9][0-9]* passed, [1-9][0-9]* failed' \
    "$(tail -n 1 <<<"$out")"

command=$(sed -n '/^FAIL rename.file onto file, as root$/,/repeat:/ s/^    repeat: windlass //p' <<<"$out")
echo "repeating: $command"
out=$(eval "\"\$WINDLASS\" $command")
expect_match "it fails again" '^FAIL rename/file onto file, as root$' "$out"
expect "it is the only case" "0 passed, 1 failed, 0 skipped, 0 differ by design" \
    "$(tail -n 1 <<<"$out")"

out=$(conform --case 'paths/utimensat: directory' "$VOL")
expect_match "seconds are the same" '1 passed, 0 failed' "$out"
out=$(conform --case 'times/set to *' "$VOL") && fail "a translator that cuts times passes"
expect_match "times that are cut" '^FAIL times/set to ' "$out"

stack
out=$("$WINDLASS" conform --mount --directory "$TEST_DIR" --case '@(data|links)/*' "$VOL") ||
    fail "$out"
expect "as root, then as a user" "links root, data root, links user, data user" \
    "$(sed -n 's/^ok   \([a-z]*\), as \([a-z]*\):.*/\1 \2/p' <<<"$out" | paste -sd, |
    sed 's/,/, /g')"
expect "each is counted" "$(awk '/^ok/ { n += $5 } END { print n }' <<<"$out")" \
    "$(sed -n '$s/ passed.*//p' <<<"$out")"

# However it ends, nothing stays: neither a mount, nor a daemon, nor what it has written.
for signal in INT TERM KILL; do
    env --default-signal=INT "$WINDLASS" conform --mount --directory "$TEST_DIR" \
        --case '@(paths|rename)/*' "$VOL" >/dev/null &
    pid=$!
    wait_until "grep -q '$TEST_DIR/windlass-conform' /proc/self/mountinfo"
    daemons=$(cat windlass-conform.*/pid)
    kill -$signal $pid
    wait $pid 2>/dev/null
    wait_until "! grep -q '$TEST_DIR/windlass-conform' /proc/self/mountinfo &&
        ! ls -d windlass-conform.* 2>/dev/null"
    for daemon in $daemons; do
        wait_until "! is_running $daemon"
    done
done

# A line of the daemon's log may be allowed in every case, also in the last one: the end.
stack debug/trace,log-file=yes,force-log-level=WARNING
printf '%s\n' 'case *' 'line * W ?trace.c:*' 'why  each call is logged' >allow
conform --case 'links/of 6*' "$VOL" >/dev/null && fail "a daemon with warnings passes"
out=$(conform --case 'links/of 6*' --allow allow "$VOL") || fail "warnings that are allowed: $out"
expect "allowed warnings" "2 passed, 0 failed, 0 skipped, 0 differ by design" \
    "$(tail -n 1 <<<"$out")"
stack

out=$(conform --case 'rename/file onto file' "$VOL" -- --attribute-timeout=0) || fail "$out"
expect "a single case" "1 passed, 0 failed, 0 skipped, 0 differ by design" "$(tail -n 1 <<<"$out")"
expect_error "no case matches 'no/such'" conform --case no/such "$VOL"
expect_error "missing.vol' can't be read: No such file" conform "$TEST_DIR/missing.vol"
expect_error "which volfile\?" conform

expect_match "the names of cases are listed" '^rename/file onto file$' \
    "$("$WINDLASS" conform --list)"
expect_match "what differs by design says why" \
    '^mapped/the end of the file, always: the kernel caches' "$("$WINDLASS" conform --by-design)"
if printf '%s\n' 3.17 "$("$WINDLASS" --version | sed -n 's/^libfuse //p')" | sort -CV; then
    expect_no_match "what differs by design with libfuse 3.17" 'O_TMPFILE' \
        "$("$WINDLASS" conform --by-design)"
fi
