#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Pages stay cached when an unchanged file is opened again, and are dropped when it changed behind
# the mount.
. "$(dirname "$0")/../lib.sh"

stack
sed -i 's|type storage/posix|&\n    option log-level TRACE|' "$VOL"
# reads: how many reads came to storage so far
reads () {
    grep -c ' readv .*-> posix' "$LOG"
}
# big LETTER: 8 MiB of it
big () {
    head -c 8388608 /dev/zero | tr '\0' "$1"
}

mount_volfile "$VOL" --attribute-timeout=0
big a >"$BACK/file"
expect "the content" "$(big a | md5sum)" "$(md5sum <"$MNT/file")"
first=$(reads)
[ "$first" -ge 8 ] || fail "8 MiB were read in $first requests"

# The kernel may drop pages at any time, and another process may drop all caches: so at least one
# open must ask for nothing.
bytes () {
    awk -F 'size=' '/ readv .*-> posix/ { sum += $2 } END { print sum + 0 }' "$LOG"
}
asks_for_nothing () {
    local before
    before=$(bytes)
    expect "the content again" "$(big a | md5sum)" "$(md5sum <"$MNT/file")"
    [ "$(bytes)" = "$before" ]
}
[ "$(bytes)" -ge 8388608 ] || fail "8 MiB are $(bytes) bytes in the log"
wait_until asks_for_nothing
wait_until asks_for_nothing

big b >"$BACK/file"
expect "the content after a change behind" "$(big b | md5sum)" "$(md5sum <"$MNT/file")"
printf 'xyz' >>"$BACK/file"
expect "the end after more of it" bxyz "$(tail -c 4 "$MNT/file")"
truncate -s 5 "$BACK/file"
expect "what is left of it" bbbbb "$(cat "$MNT/file")"

echo written >"$MNT/written"
unmount

mount_volfile "$VOL" --attribute-timeout=0 --fopen-keep-cache=off
first=$(reads)
cat "$MNT/written" >/dev/null
second=$(reads)
cat "$MNT/written" >/dev/null
expect "reads for a second open without keeping" $((second - first)) $(($(reads) - second))
