#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A value written to .meta takes effect at once, for one translator or all; an invalid value changes
# nothing, and the log says what is allowed. A level set this way outlives a reload, and a read-only
# mount can be opened for it.
. "$(dirname "$0")/../lib.sh"
stack encryption/rot-13 debug/delay-gen
mount_volfile "$VOL"
M=$MNT/.meta
rot=$M/graphs/active/rot-13-1
echo text >"$MNT/file"

# traced: which translators' winds a write to the file logs.
traced () {
    local before
    before=$(wc -l <"$LOG")
    echo more >>"$MNT/file"
    sed "1,${before}d" "$LOG" | sed -n 's/.* T \[.* -> \([^:]*\): .*/\1/p' | sort -u | xargs
}

expect "at first" "" "$(traced)"
expect "a translator's level at first" unset "$(cat "$rot/loglevel")"
echo TRACE >"$rot/loglevel"
expect "its level" 9 "$(cat "$rot/loglevel")"
expect "one translator" rot-13-1 "$(traced)"
"$WINDLASS" reload "$MNT" >/dev/null || fail "reload"
expect "after a reload" rot-13-1 "$(traced)"
printf 'warning' >"$rot/loglevel"
expect "after WARNING" "5 " "$(cat "$rot/loglevel" | tr '\n' ' ')$(traced)"
echo unset >"$rot/loglevel"
echo 9 >"$M/logging/loglevel"
expect "all" "delay-gen-2 posix rot-13-1" "$(traced)"
echo 2 >"$rot/loglevel"
expect "all but one" "delay-gen-2 posix" "$(traced)"
echo unset >"$rot/loglevel"
echo info >"$M/logging/loglevel"
expect "none" "" "$(traced)"
expect_match "who did it" \
    "I \[.*-\.meta: '/\.meta/logging/loglevel' is 'info' now, by process [0-9]+ of user $(id \
    -u)\$" "$(cat "$LOG")"
echo 1 >"$M/measure_latency"
expect "measuring" 1 "$(cat "$M/measure_latency")"
echo off >"$M/measure_latency"
expect "measuring" 0 "$(cat "$M/measure_latency")"

# refused FILE VALUE REGEX: the value is none, the file stays, and the log says why.
refused () {
    local before
    before=$(cat "$1"; wc -l <"$LOG")
    # shellcheck disable=SC2059 # bytes that no argument could hold; all in one write
    if printf -- "$2" | dd bs=1M iflag=fullblock conv=notrunc status=none \
        of="$1" 2>/dev/null; then fail "'$2' was taken for ${1#"$MNT"}"; fi
    expect_match "the log of '$2'" " W \[.*'${1#"$MNT"}' $3.*nothing was changed" \
        "$(sed "1,$(tail -n 1 <<<"$before")d" "$LOG")"
    expect "lines for '$2'" 1 "$(sed "1,$(tail -n 1 <<<"$before")d" "$LOG" | wc -l)"
    expect "${1#"$MNT"} after '$2'" "$(head -n 1 <<<"$before")" "$(cat "$1")"
}
for value in 10 -1 '\n' 'TRAC' '9 9' '9\n8\n' 'unset' '7\0' '\377' "$(printf '%257d' 9)" \
    "$(printf '%100000d' 9)"; do
    refused "$M/logging/loglevel" "$value" 'must be '
done
refused "$M/root/loglevel" verbose 'must be a number from 0 to 9, or NONE, .* or TRACE, or unset'
refused "$M/measure_latency" 2 "must be 0 or 1, got '2'"
expect "an empty value" "" "$(: >"$M/logging/loglevel" 2>&1)"

# What is open shows what it was.
exec 3<"$M/logging/loglevel"
echo 8 >"$M/logging/loglevel"
expect "opened before" 7 "$(cat <&3)"
expect "opened after" 8 "$(cat "$M/logging/loglevel")"
exec 3<&-
unmount

# On a mount that is read only the kernel asks for no write; remounted, .meta alone can be written.
need_root
for options in "-o ro" --read-only; do
    # shellcheck disable=SC2086
    mount_volfile "$VOL" $options
    expect_error 'Read-only file system' sh -c 'echo 8 >"$1"' sh "$M/logging/loglevel"
    expect "reading" 7 "$(cat "$M/logging/loglevel")"
    expect_ok env LIBMOUNT_FORCE_MOUNT2=always mount -i -o remount,rw "$MNT"
    expect_ok sh -c 'echo 8 >"$1"' sh "$M/logging/loglevel"
    expect "written" 8 "$(cat "$M/logging/loglevel")"
    expect_error 'Read-only file system' touch "$MNT/new"
    expect_error 'Read-only file system' sh -c 'echo >"$1"' sh "$MNT/file"
    unmount
done
