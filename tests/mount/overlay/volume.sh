#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A view of a distributed volume of GlusterFS: random changes show in it as in a plain directory,
# and a commit brings them to the volume, renamed directories and replaced names among them.
# longer
. "$(dirname "$0")/../brick/lib.sh"
program=$SOURCE_DIR/tests/mount/programs/change-trees.py
number=$(amount 60 1000)
seed=${SEED:-1}

for name in a b; do
    brick $name
done
distribute_volfile "$VOL" a b
cp "$VOL" base.vol
mkdir first plain
overlay_on all

# expect_same WHAT
expect_same () {
    expect "$1: the difference" "" "$(diff -r --no-dereference "$MNT" plain 2>&1)"
}

echo "seed $seed"
expect_ok python3 "$program" --no-links "$seed" 60 first plain
mount_volfile base.vol
cp -a first/. "$MNT" # a volume can't exchange names
unmount
for round in 1 2 3; do
    mount_volfile "$VOL"
    expect_ok python3 "$program" --no-links $((seed + round)) "$number" "$MNT" plain
    expect_same "the view, round $round"
    expect_ok "$WINDLASS" overlay commit "$MNT"
    expect_same "the view after the commit, round $round"
    expect "changes that are left" "" "$("$WINDLASS" overlay diff "$MNT")"
    unmount
    mount_volfile base.vol
    expect_same "the volume, round $round"
    unmount
done
