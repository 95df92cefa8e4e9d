#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A split brain, made by hand: EIO, and `windlass explain` names the copies that accuse. A policy
# decides which copy is read and healed from. A name that is another object on one brick is EIO too.
. "$(dirname "$0")/replicate-lib.sh"

# accuse BRICK NAME ACCUSED DATA METADATA ENTRIES
accuse () {
    setfattr -n "trusted.afr.$3" -v "0x$(printf '%08x%08x%08x' "$4" "$5" "$6")" "$1.d/$2"
}

begin () {
    : >"$LOG"
    replicate_volfile "$@"
    mount_volfile "$VOL"
}

bricks_begin
begin
for name in data attributes two; do
    echo same >"$MNT/$name"
done
mkdir "$MNT/names"
touch "$MNT/names/everywhere"
unmount
wait_until no_marks
for brick in c0 c1 c2; do
    echo "of $brick" >"$brick.d/data"
    for accused in c0 c1 c2; do
        [ "$brick" = "$accused" ] && continue
        accuse $brick data "$accused" 1 0 0
        accuse $brick attributes "$accused" 0 1 0
        accuse $brick names "$accused" 0 0 1
    done
done
printf 'longest of all\n' >c1.d/data
accuse c0 two c1 1 0 0
accuse c1 two c0 1 0 0

begin
expect_error 'Input/output error' cat "$MNT/data"
expect_error 'Input/output error' bash -c "echo x >>'$MNT/data'"
expect_error 'Input/output error' chmod 600 "$MNT/attributes"
expect_error 'Input/output error' touch "$MNT/names/new"
expect "a file of which one copy is good" same "$(cat "$MNT/two")"
explained=$("$WINDLASS" explain "$MNT/data")
expect_match "explain" 'c0 says that c1 has missed changes of data \(1\)' "$explained"
expect_match "explain" 'c1 says that c2 has missed changes of data \(1\)' "$explained"
expect_match "explain" 'split brain: every copy is accused .*favorite-child-policy' "$explained"
expect_match "explain" 'good data: none' "$explained"
# status NAME EXPECTED: what GlusterFS's tools ask for
status () {
    expect "the status of $1" "$2" \
        "$(getfattr --only-values --absolute-names -n replica.split-brain-status "$MNT/$1")"
}
status data "data-split-brain:yes    metadata-split-brain:no    Choices:c0,c1,c2"
status attributes "data-split-brain:no    metadata-split-brain:yes    Choices:c0,c1,c2"
status two "The file is not under data or metadata split-brain"
expect_error 'split brain of data' "$WINDLASS" heal "$MNT" data
expect "a write changed nothing" "longest of all" "$(cat c1.d/data)"
"$WINDLASS" heal "$MNT" names >heal.out || fail "heal: $(cat heal.out)"
touch "$MNT/names/new"
unmount

# The largest copy is taken for the good one.
begin favorite-child-policy=size
expect "what the policy reads" "longest of all" "$(cat "$MNT/data")"
expect_match "explain" 'read from the copy that the policy takes' \
    "$("$WINDLASS" explain "$MNT/data")"
status data "data-split-brain:yes    metadata-split-brain:no    Choices:c0,c1,c2"
"$WINDLASS" heal "$MNT" data >heal.out || fail "heal: $(cat heal.out)"
expect_match "heal" 'data: data healed on c0, c2, from c1' "$(cat heal.out)"
expect "the copies" "longest of all" "$(cat c0.d/data)"
expect "no marks of it" "" "$(marks | grep ': data:')"
unmount

# Another object under the same name.
begin
echo one >"$MNT/twin"
unmount
wait_until "! marks | grep -q twin"
brick_stop c2
begin
rm "$MNT/twin"
echo other >"$MNT/twin"
wait_until "! marks c0 | grep -q dirty"
unmount
for brick in c0 c1; do # as if none of them knew that c2 missed it
    setfattr -x trusted.afr.c2 $brick.d
    setfattr -x trusted.afr.c2 $brick.d/twin
done
brick_start c2
begin
expect_error 'Input/output error' cat "$MNT/twin"
wait_until "grep -q \"'/twin' is another object on c2\" '$LOG'"
unmount
