#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A volume of glusterd with three copies: what this client changes while a brick is down is healed
# by GlusterFS's own daemon, from the bricks' index. The volume is mounted by its name.
. "$(dirname "$0")/lib.sh"
need_command glusterd gluster
server=127.1.1.1
BRICKS=(r0 r1 r2)

glusterd_begin $server
expect_ok gluster_do volume create gr replica 3 $server:"$TEST_DIR"/r{0,1,2}.d force
expect_ok gluster_do volume start gr
wait_until "volume_start $server:/gr '$MNT'"
expect_match "the graph" 'type cluster/replicate' "$("$WINDLASS" graph "$MNT")"
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: gr-client-0, gr-client-1, gr-client-2'"

mkdir -p "$MNT/old/deep"
echo before >"$MNT/old/changed"
echo before >"$MNT/old/removed"
echo before >"$MNT/old/moved"
seq 1 100000 >"$MNT/old/large"
wait_until no_marks

# The brick's process names its folder.
brick_pid=$(pgrep -f "glusterfsd.*$TEST_DIR/r2.d")
kill -9 "$brick_pid"
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: gr-client-2'"
echo after >"$MNT/old/changed"
rm "$MNT/old/removed"
mv "$MNT/old/moved" "$MNT/old/deep/moved"
chmod 600 "$MNT/old/deep/moved"
setfattr -n user.colour -v green "$MNT/old/large"
printf XXXX | dd of="$MNT/old/large" bs=1 seek=300000 conv=notrunc status=none
mkdir -p "$MNT/new/deeper"
seq 1 5000 >"$MNT/new/deeper/numbers"
ln -s deeper "$MNT/new/link"
ln "$MNT/old/changed" "$MNT/new/hard"
mknod "$MNT/new/fifo" p
wait_until "! marks r0 r1 | grep -q dirty"
copies_are_equal && fail "the brick was not down"
[ -n "$(marks r0 r1)" ] || fail "there are no marks"
expect "marks are the same on both bricks" "$(marks r0 | sed s/^r0//)" "$(marks r1 | sed s/^r1//)"

# A killed process that nothing has waited for is still there for glusterd.
find "$TEST_DIR" -name "*r2.d.pid" -delete
expect_ok gluster_do volume start gr force
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: gr-client-0, gr-client-1, gr-client-2'"
expect "what a reader gets" after "$(cat "$MNT/old/changed")"
# The daemon may have to be told again, until it is connected to all bricks.
end=$((SECONDS + 120))
until copies_are_equal && no_marks; do
    gluster_do volume heal gr >/dev/null 2>&1
    [ $SECONDS -lt $end ] || break
    sleep 1
done
no_marks || fail "marks are left: $(marks)"
expect_equal_copies "after the daemon has healed"
expect "an attribute" green "$(getfattr --only-values -n user.colour r2.d/old/large)"
expect "a file" "$(sha256sum <"$MNT/old/large")" "$(sha256sum <r2.d/old/large)"
unmount
