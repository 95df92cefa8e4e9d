#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where new files and directories go. A brick with less free space than min-free-disk gets no new
# files: another one does, and the brick of the name's hash has a linkto; with room again, it gets
# files again. A brick that leaves the volume gets neither files nor hashes of new directories.
# directory-layout-spread says how many bricks get hashes.
# through: device
. "$(dirname "$0")/../brick/lib.sh"
need_command getfattr
for name in a b; do
    mkdir -p $name.d && mount -t tmpfs -o size=16M "$name" $name.d || fail "no tmpfs"
done
for name in a b c d; do
    brick $name
done

hashed () {
    getfattr --absolute-names --only-values -n "dht.file.hashed-subvol.$2" "$1"
}

# new_on BRICK DIRECTORY: a new name whose hash that brick has
number=0
new_on () {
    while
        number=$((number + 1))
        [ "$(hashed "$2" "n$number")" != "c-$1" ]
    do :; done
    name=n$number
}

linkto () {
    getfattr --only-values -n trusted.glusterfs.dht.linkto "$1" 2>/dev/null | tr -d '\0'
}

# The range of a directory on a brick, or nothing if it has no hashes.
range () {
    getfattr -n trusted.glusterfs.dht -e hex "$1" 2>/dev/null | grep '^trusted.*=0x' |
        cut -c 41- | grep -v '^0*$'
}

# --- min-free-disk --------------------------------------------------------------------------------

head -c 15M /dev/zero >a.d/full
DISTRIBUTE_OPTIONS=('option min-free-disk 20%')
distribute_volfile "$VOL" a b
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
mkdir "$MNT/dir"
new_goes_to () {
    new_on a "$MNT/dir"
    echo text >"$MNT/dir/$name" || fail "a new file can't be made"
    [ -s $1.d/dir/$name ]
}
wait_until 'new_goes_to b'
expect_match "the log" "subvolume c-a has less free space than min-free-disk" "$(cat "$LOG")"
expect "the linkto" c-b "$(linkto a.d/dir/$name)"
expect "the text" text "$(cat "$MNT/dir/$name")"
expect "the listing" 1 "$(ls "$MNT/dir" | grep -cx $name)"
expect_ok ln -s target "$MNT/dir/symbolic"
expect_ok mkdir "$MNT/dir/more"
expect_ok mv "$MNT/dir/$name" "$MNT/dir/renamed"
expect "the text" text "$(cat "$MNT/dir/renamed")"
rm "$MNT/dir/renamed"
expect "what remains" "" "$(find . -path ./mnt -prune -o -name $name -print -o -name renamed -print)"
new_on b "$MNT/dir"
echo text >"$MNT/dir/$name"
expect "the bricks of a file with room" "b.d/dir/$name" "$(ls {a,b}.d/dir/$name 2>/dev/null)"

rm a.d/full
wait_until 'new_goes_to a'
unmount

# An amount instead of a share.
DISTRIBUTE_OPTIONS=('option min-free-disk 15MB')
distribute_volfile "$VOL" a b
head -c 4M /dev/zero >a.d/full
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
wait_until 'new_goes_to b'
rm a.d/full
unmount

# --- decommissioned-bricks ------------------------------------------------------------------------

DISTRIBUTE_OPTIONS=('option decommissioned-bricks c-a' 'option min-free-disk 1%')
distribute_volfile "$VOL" a b
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
new_on a "$MNT/dir"
echo text >"$MNT/dir/$name"
expect "the linkto of the brick that leaves" c-b "$(linkto a.d/dir/$name)"
[ -s b.d/dir/$name ] || fail "the new file is on the brick that leaves"
mkdir "$MNT/later"
expect "the range on the brick that leaves" "" "$(range a.d/later)"
for i in {1..20}; do
    echo $i >"$MNT/later/$i"
done
expect "what it gets" "" "$(ls a.d/later)"
expect "what the other one gets" 20 "$(ls b.d/later | wc -l)"

# It changes while the mount goes on, in the same graph.
DISTRIBUTE_OPTIONS=('option decommissioned-bricks c-b' 'option min-free-disk 1%')
distribute_volfile "$VOL" a b
expect_match "a reload" "decommissioned-bricks" "$("$WINDLASS" reload "$MNT")"
expect "new graphs" 0 "$(grep -c 'moved to its new graph' "$LOG")"
mkdir "$MNT/now"
for i in {1..20}; do
    echo $i >"$MNT/now/$i"
done
expect "what the one that leaves now gets" "" "$(ls b.d/now)"
DISTRIBUTE_OPTIONS=('option decommissioned-bricks c-x')
distribute_volfile "$VOL" a b
expect_error "'all' refuses its new options" "$WINDLASS" reload "$MNT"
expect_match "the log" "'decommissioned-bricks' must .*, got 'c-x'" "$(cat "$LOG")"
unmount
expect_error "'decommissioned-bricks' must .*, got 'c-x'" \
    "$WINDLASS" -f "$VOL" -l "$TEST_DIR/refused.log" "$MNT"

# --- directory-layout-spread ----------------------------------------------------------------------

DISTRIBUTE_OPTIONS=('option directory-layout-spread 2' 'option min-free-disk 1%'
                    'option weighted-rebalance off')
distribute_volfile "$VOL" a b c d
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
expect_ok ls "$MNT"
for i in {1..8}; do
    mkdir "$MNT/spread$i"
    with=()
    for name in a b c d; do
        [ -z "$(range $name.d/spread$i)" ] || with+=($name)
    done
    expect "bricks with hashes of spread$i" 2 ${#with[@]}
done
for i in {1..20}; do
    echo $i >"$MNT/spread1/$i"
done
expect "bricks with files" 2 "$(ls -d {a,b,c,d}.d/spread1/* | cut -d/ -f1 | sort -u | wc -l)"
unmount

# --- assert-no-child-down -------------------------------------------------------------------------

DISTRIBUTE_OPTIONS=('option assert-no-child-down on')
distribute_volfile "$VOL" c d
mount_volfile "$VOL"
expect_ok ls "$MNT"
brick_kill d
wait_until "! is_running $DAEMON"
is_mounted && fail "the mount is still there"
expect_match "the log" "assert-no-child-down" "$(cat "$LOG")"
