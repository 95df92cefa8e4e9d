#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over a wire: protocol/client speaks to bricks in the same process, which end and
# begin as the seed decides. What was confirmed stays, and what was not happened or did not.
# longer
. "$(dirname "$0")/../mount/lib.sh"

# brick NAME: a volume of a brick.
brick () {
    printf 'volume %s\n    type protocol/client\n    option remote-host localhost\n' "$1"
    printf '    option remote-subvolume /nowhere\nend-volume\n'
}

# over TYPE[,SETTING] BELOW...: a volume named top over others.
over () {
    printf 'volume top\n    type %s\n' "${1%%,*}"
    [[ $1 != *,* ]] || printf '    option %s\n' "${1#*,}"
    printf '    subvolumes %s\nend-volume\n' "${*:2}"
}

run () { # SEED OPTION...
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed "$1" --histories \
        "$(amount 6 40)" "${@:2}" || fail "this does not pass: $(cat "$VOL")"
}

brick brick >"$VOL"
run 11
run 12 --faults 50

for top in write-behind md-cache quick-read readdir-ahead; do
    { brick brick; over "performance/$top" brick; } >"$VOL"
    run 13
done

# Three copies, of which one comes and goes: everything succeeds all the same. With these seeds a
# copy that missed a change says something else about a name than the others.
{
    brick one
    brick two
    brick three
    over 'cluster/replicate,quorum-type auto' one two three
} >"$VOL"
for seed in 7 13 21 49 73 261 441 1032 1270 2203 5001 5002; do
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed $seed --histories 1 ||
        fail "three copies: seed $seed does not pass"
done
[ -z "${TEST_LONG-}" ] || run 15

# The files of two bricks. Of one that is away, the names are missing in a listing.
{
    brick one
    brick two
    over cluster/distribute one two
} >"$VOL"
run 3

# What is confirmed and lost is found.
{ brick brick; over 'defects/pass,defect lost-confirmed' brick; } >"$VOL"
"$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed 14 --histories 60 >found &&
    fail "a write that is confirmed when the brick ends is not missed"
grep -q 'brick 0 is killed' found || fail "the report does not say when the brick ended"
