#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick of a distributed volume that is down: its files, and names that hash there, fail with
# ENOTCONN; all others work, and listings have the other bricks' files. When it is back, so is all,
# and directories that were made meanwhile are made there.
. "$(dirname "$0")/../brick/lib.sh"

for name in a b; do
    brick $name
done
distribute_volfile "$VOL" a b
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
mkdir "$MNT/dir"
for i in {1..20}; do
    echo $i >"$MNT/dir/$i"
done
on_a=$(ls a.d/dir) on_b=$(ls b.d/dir)
[ -n "$on_a" ] && [ -n "$on_b" ] || fail "all files are on one brick"
expect "where the name of a file hashes" c-a \
    "$(getfattr --only-values -n "dht.file.hashed-subvol.$(head -1 <<<"$on_a")" "$MNT/dir")"
expect_match "what explain says" 'the file is on c-a' \
    "$("$WINDLASS" explain "$MNT/dir/$(head -1 <<<"$on_a")" 2>&1)"

# Children side by side are in brackets, where a request may go and where it is.
expect_match "where requests may go" \
    '^way of lookup, stat, readv, writev: fuse -> [^ ]+ -> \[c-a, c-b\]$' \
    "$("$WINDLASS" explain "$MNT")"
brick_freeze a
brick_freeze b
stat -f "$MNT" >/dev/null &
wait_until '"$WINDLASS" inflight "$MNT" | grep -q "way: *fuse -> [^ ]* -> \[c-a, c-b\]$"'
kill -CONT "${BRICK_PID[a]}" "${BRICK_PID[b]}"
wait $!

brick_kill b
wait_until "! cat '$MNT/dir/$(head -1 <<<"$on_b")' 2>/dev/null"
for i in $on_a; do
    expect "a file of the other brick" $i "$(cat "$MNT/dir/$i")"
done
for i in $on_b; do
    expect_error 'not connected' cat "$MNT/dir/$i"
done
expect "the listing" "$on_a" "$(ls "$MNT/dir")"
made=0 refused=0
for i in {21..40}; do
    if echo $i 2>/dev/null >"$MNT/dir/$i"; then
        made=$((made + 1))
    else
        refused=$((refused + 1))
    fi
done
[ $made -gt 0 ] && [ $refused -gt 0 ] || fail "of 20 new files, $made were made"
expect_error 'not connected' rmdir "$MNT/dir"
expect_error 'not connected' mv "$MNT/dir" "$MNT/other"
new=
for i in {1..20}; do
    mkdir "$MNT/new$i" 2>/dev/null && new=new$i && break
done
[ -n "$new" ] || fail "no directory could be made"
chmod 750 "$MNT/$new"

brick_start b
wait_until "cat '$MNT/dir/$(head -1 <<<"$on_b")' 2>/dev/null"
expect "the listing" $((20 + made)) "$(ls "$MNT/dir" | wc -l)"
wait_until "ls '$MNT/$new' >/dev/null && [ \"\$(stat -c %a b.d/$new)\" = 750 ]"
for i in {1..20}; do
    echo $i >"$MNT/$new/$i"
done
expect "files in it" 20 "$(ls "$MNT/$new" | wc -l)"
unmount

# A mount needs one brick.
brick_kill a
mount_volfile "$VOL"
expect "files of the brick that is there" "$on_b" "$(ls "$MNT/dir" | sort | grep -xFf <(echo "$on_b"))"
