#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Names of a directory that is being healed: each is found all the time, and a rename that moved
# another object on a bad copy leaves a mark against it.
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0

c1_is_back () {
    brick_start c1
    wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
}

# --- a healer has a name locked while it makes it on the bad copy

mkdir "$MNT/many"
brick_kill c1
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: c1'"
for i in $(seq 150); do echo "$i" >"$MNT/many/$i"; done
c1_is_back
python3 - "$MNT/many" "$TEST_DIR/healed" 2>look.err <<'E2' &
import os, sys
folder, healed = sys.argv[1:]
while not os.path.exists(healed):
    for i in range(150):
        os.stat(f"{folder}/{i + 1}")
E2
looks=$!
while ! no_marks; do "$WINDLASS" heal "$MNT" many >>heal.out 2>&1; done
touch healed
wait $looks || fail "a name was not found while it was healed: $(tail -n 1 look.err)"
expect_equal_copies

# --- a bad copy has another object of the name

echo old >"$MNT/moved"
brick_kill c1
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: c1'"
rm "$MNT/moved"
echo new >"$MNT/moved"
c1_is_back
before=$(marks c0 | grep ': \.: .*afr.c1')
[ -n "$before" ] || fail "the directory has no mark: $(marks)"
mv "$MNT/moved" "$MNT/there"
[ "$(marks c0 | grep ': \.: .*afr.c1')" != "$before" ] ||
    fail "c1 is not accused of the rename: $(marks)"
heal_all
expect "the file" new "$(cat "$MNT/there")"
expect_equal_copies
unmount
