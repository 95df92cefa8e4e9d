#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A split brain, made by hand: EIO, and `windlass explain` names the copies that accuse. A policy,
# or an attribute that root sets, decides which copy is read and healed from. A name that is another
# object on one brick is EIO too.
. "$(dirname "$0")/lib.sh"

begin () {
    : >"$LOG"
    replicate_volfile "$@"
    mount_volfile "$VOL"
}

bricks_begin
begin
for name in data attributes two chosen; do
    echo same >"$MNT/$name"
done
mkdir "$MNT/names" "$MNT/renamed"
touch "$MNT/names/everywhere"
echo same >"$MNT/renamed/one"
unmount
wait_until no_marks
for brick in c0 c1 c2; do
    echo "of $brick" >"$brick.d/data"
    echo "of $brick" >"$brick.d/chosen"
    setfattr -n user.who -v $brick "$brick.d/chosen" "$brick.d/attributes"
    for accused in c0 c1 c2; do
        [ "$brick" = "$accused" ] && continue
        accuse $brick data "$accused" 1 0 0
        accuse $brick chosen "$accused" 1 1 0
        accuse $brick renamed/one "$accused" 1 1 0
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
expect_match "explain" 'c0 reports that c1 has missed changes of data \(1\)' "$explained"
expect_match "explain" 'c1 reports that c2 has missed changes of data \(1\)' "$explained"
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
expect_error 'split-brain of data' "$WINDLASS" heal "$MNT" data
expect "a write changed nothing" "longest of all" "$(cat c1.d/data)"

# split_brain HOW VALUE NAME
split_brain () {
    setfattr -n "replica.split-brain-$1" -v "$2" "$MNT/$3"
}
expect_error 'Invalid argument' split_brain choice c1 two
expect_error 'Invalid argument' split_brain choice none two
expect_error 'Invalid argument' split_brain choice c1 names
expect_error 'Invalid argument' split_brain choice c9 chosen
expect_error 'Invalid argument' split_brain choice-timeout soon chosen
expect_error 'Invalid argument' split_brain heal-finalize none chosen
chmod 666 "$MNT/two"
expect_error 'Operation not permitted' setpriv --reuid 1002 --regid 1002 --clear-groups \
    setfattr -n replica.split-brain-choice -v c1 "$MNT/two"
for choice in c1 c2; do
    split_brain choice $choice chosen
    expect "the chosen copy" "of $choice" "$(cat "$MNT/chosen")"
    expect "its attribute" $choice \
        "$(getfattr --only-values --absolute-names -n user.who "$MNT/chosen")"
    expect_error 'Input/output error' bash -c "echo x >>'$MNT/chosen'"
    expect_error 'Input/output error' setfattr -n user.who -v none "$MNT/chosen"
    status chosen "data-split-brain:yes    metadata-split-brain:yes    Choices:c0,c1,c2"
done
split_brain choice none chosen
expect_error 'Input/output error' cat "$MNT/chosen"
split_brain choice c1 attributes
expect "an attribute of the chosen copy" c1 \
    "$(getfattr --only-values --absolute-names -n user.who "$MNT/attributes")"
expect "nothing changed on the bricks" "of c0 of c1 of c2" \
    "$(cat c?.d/chosen | paste -sd' ')"
split_brain choice c1 chosen
split_brain heal-finalize c2 chosen
for brick in c0 c1 c2; do
    expect "the copy on $brick" "of c2" "$(cat $brick.d/chosen)"
    expect "its attribute on $brick" c2 \
        "$(getfattr --only-values -n user.who $brick.d/chosen)"
done
expect "no marks of it" "" "$(marks | grep ': chosen:')"
expect "what is read then" "of c2" "$(cat "$MNT/chosen")"
echo more >>"$MNT/chosen"
split_brain heal-finalize c2 two
nodes () {
    getfattr --only-values --absolute-names -n trusted.glusterfs.list-node-uuids "$MNT/two"
}
expect "the nodes of the bricks" "$(brick_node c0) $(brick_node c1) $(brick_node c2)" "$(nodes)"
"$WINDLASS" heal "$MNT" names >heal.out || fail "heal: $(cat heal.out)"
touch "$MNT/names/new"
unmount

# A rename holds the directory's lock while it waits for the file's, which the choice holds until it
# is answered.
cat >choose.py <<'EOF'
import errno, os, sys, threading
names = [f"{sys.argv[1]}/{name}" for name in ("one", "two")]
over = False
def rename():
    while not over:
        os.rename(*names)
        os.rename(*reversed(names))
thread = threading.Thread(target=rename)
thread.start()
chosen = 0
while chosen < 100:
    try:
        os.setxattr(names[chosen % 2], "replica.split-brain-choice", (b"c1", b"none")[chosen % 2])
        chosen += 1
    except OSError as error:  # under the other name, or the kernel had no attributes
        if error.errno not in (errno.ENOENT, errno.EIO):
            raise
over = True
thread.join()
EOF
mount_volfile "$VOL" --entry-timeout=0
expect_ok timeout -s KILL 20 python3 choose.py "$MNT/renamed"
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
expect "the nodes of two bricks" \
    "$(brick_node c0) $(brick_node c1) 00000000-0000-0000-0000-000000000000" "$(nodes)"
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
