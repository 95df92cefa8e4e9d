#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# With metadata-self-heal and entry-self-heal, what is looked up is healed in the background.
. "$(dirname "$0")/replicate-lib.sh"

bricks_begin
replicate_volfile metadata-self-heal=on entry-self-heal=on
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
mkdir "$MNT/directory"
echo text >"$MNT/file"
touch "$MNT/directory/removed"
setfattr -n user.old -v gone "$MNT/file"
setfattr -n user.old -v gone "$MNT/directory"
brick_kill c1
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: c1'"
chmod 600 "$MNT/file"
setfattr -n user.colour -v red "$MNT/file"
setfattr -x user.old "$MNT/file"
setfattr -x user.old "$MNT/directory"
rm "$MNT/directory/removed"
touch "$MNT/directory/made"
brick_start c1
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
wait_until "stat '$MNT/file' >/dev/null; [ \$(stat -c %a c1.d/file) = 600 ]"
wait_until "[ \"\$(getfattr --only-values -n user.colour c1.d/file 2>/dev/null)\" = red ]"
wait_until "stat '$MNT/directory' >/dev/null; [ \"\$(ls c1.d/directory)\" = made ]"
wait_until "stat '$MNT/directory' >/dev/null; no_marks"
expect "a removed attribute" "" "$(getfattr -m '^user.old' c1.d/file c1.d/directory)"
expect_equal_copies
unmount
