#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Another client, which cannot reach one brick, changes names and files. This client, which can,
# soon sees that this copy is a bad one: no name is missing, back again or another object.
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile read-subvolume=c2
sed "s/remote-port ${BRICK_PORT[c2]}/remote-port 1/" "$VOL" >other.vol
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
mkdir other
"$WINDLASS" -f other.vol -l other.log -p other.pid other || fail "the other client: $(cat other.log)"
wait_until "'$WINDLASS' explain other | grep -q 'not there: c2'"
echo old >"$MNT/another"
echo old >"$MNT/removed"
echo old >"$MNT/moved"
echo old >"$MNT/over"
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"

rm other/another
ln -s target other/another
rm other/removed
touch other/made
mv other/moved other/over
umount other
expect "another object" target "$(readlink "$MNT/another")"
expect_error 'No such file' stat "$MNT/removed"
expect_ok stat "$MNT/made"
expect_error 'No such file' stat "$MNT/moved"
wait_until "[ \"\$(ls '$MNT' | xargs)\" = 'another made over' ]"
mv "$MNT/over" "$MNT/there"
expect "a renamed file" old "$(cat "$MNT/there")"
heal_all
expect_equal_copies
unmount
