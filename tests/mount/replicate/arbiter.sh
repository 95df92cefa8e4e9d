#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Two copies and an arbiter, which has names and attributes but no data. It is never read, and never
# the source of data: a file of which only the arbiter is good is EIO, and stays as it is. In a
# split brain it is no choice.
. "$(dirname "$0")/lib.sh"

# The third brick has GlusterFS's features/arbiter in its graph.
eval "$(declare -f brick_write_volfile | sed '1s/.*/plain_volfile ()/')"
brick_write_volfile () {
    plain_volfile "$1" | if [ "$1" = c2 ]; then
        sed -e "s/^    subvolumes c2-posix/    subvolumes c2-arbiter/" |
            sed -e "0,/^end-volume/s//end-volume\nvolume c2-arbiter\n    type features\/arbiter\n    subvolumes c2-posix\nend-volume/"
    else
        cat
    fi
}

bricks_begin
replicate_volfile arbiter-count=1
mount_volfile "$VOL"
seq 1 20000 >"$MNT/file"
mkdir "$MNT/directory"
printf XX | dd of="$MNT/file" bs=1 seek=500 conv=notrunc status=none
wait_until no_marks
expect "the arbiter's file" "0 file" "$(cd c2.d && stat -c '%s %n' file)"
expect "both copies" "$(sha256sum <c0.d/file)" "$(sha256sum <c1.d/file)"
expect "what a reader gets" "$(sha256sum <c0.d/file)" "$(sha256sum <"$MNT/file")"
expect "the size" "$(stat -c %s c0.d/file)" "$(stat -c %s "$MNT/file")"

# For names the arbiter is a copy as any other: it removes a directory with the others.
mkdir "$MNT/gone" "$MNT/from" "$MNT/over"
touch "$MNT/gone/file"
rm -r "$MNT/gone"
expect_ok mv -T "$MNT/from" "$MNT/over"
mkdir "$MNT/gone"
touch "$MNT/gone/other"
wait_until no_marks
expect "the arbiter's names" "./directory ./file ./gone ./gone/other ./over" \
    "$(cd c2.d && find . -path ./.glusterfs -prune -o ! -name . -print | sort | paste -sd' ')"
rm -r "$MNT/gone"

# With one copy and the arbiter, changes go on.
brick_kill c1
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: c1'"
echo more >>"$MNT/file"
touch "$MNT/directory/new"
wait_until "! marks c0 c2 | grep -q dirty"
expect_match "what the arbiter says" 'c2: file: trusted.afr.c1=0x0000000[1-9]' "$(marks c2)"

# The copy that knows all is gone; the other one is accused by the arbiter.
brick_kill c0
brick_start c1
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c1, c2;'"
expect_error 'Input/output error' cat "$MNT/file"
expect_error 'Input/output error' bash -c "echo no >>'$MNT/file'"
stale=$(sha256sum <c1.d/file)
expect_error "only the arbiter's is good" "$WINDLASS" heal "$MNT" file
expect "the copy that was not healed" "$stale" "$(sha256sum <c1.d/file)"
brick_start c0
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
expect "what a reader gets" more "$(tail -n 1 "$MNT/file")"
for path in / file directory; do
    "$WINDLASS" heal "$MNT" $path >heal.out || fail "heal of $path: $(cat heal.out)"
done
expect "both copies" "$(sha256sum <c0.d/file)" "$(sha256sum <c1.d/file)"
expect "the arbiter's file" 0 "$(stat -c %s c2.d/file)"
expect "no marks" "" "$(marks)"

# A split brain.
echo same >"$MNT/split"
unmount
wait_until no_marks
for brick in c0 c1 c2; do
    [ $brick = c2 ] || echo "of $brick" >$brick.d/split
    setfattr -n user.who -v $brick $brick.d/split
    for accused in c0 c1 c2; do
        [ $brick = $accused ] || accuse $brick split $accused 1 1
    done
done
mount_volfile "$VOL"
expect_error 'Input/output error' cat "$MNT/split"
expect "the status" "data-split-brain:yes    metadata-split-brain:yes    Choices:c0,c1" \
    "$(getfattr --only-values --absolute-names -n replica.split-brain-status "$MNT/split")"
for how in choice heal-finalize; do
    expect_error 'Invalid argument' setfattr -n replica.split-brain-$how -v c2 "$MNT/split"
done
expect_error 'Input/output error' cat "$MNT/split"
expect "nothing healed" "c0 c1 c2" \
    "$(for brick in c0 c1 c2; do getfattr --only-values -n user.who $brick.d/split; echo; done |
        paste -sd' ')"
expect_ok setfattr -n replica.split-brain-choice -v c1 "$MNT/split"
expect "the chosen copy" "of c1" "$(cat "$MNT/split")"
expect_ok setfattr -n replica.split-brain-heal-finalize -v c1 "$MNT/split"
expect "what is read then" "of c1" "$(cat "$MNT/split")"
expect "both copies" "of c1 of c1" "$(cat c0.d/split c1.d/split | paste -sd' ')"
expect "the arbiter's file" 0 "$(stat -c %s c2.d/split)"
expect "no marks" "" "$(marks)"
unmount
