#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A directory is moved into its own child behind the mount. A listing of the child is answered:
# the kernel cannot use the entry, since it knows the directory above the child.
. "$(dirname "$0")/../lib.sh"

stack
mkdir -p "$BACK/above/child"
mount_volfile "$VOL"
cd "$MNT/above/child" || fail "cd"
mv "$BACK/above/child" "$BACK/child"
mv "$BACK/above" "$BACK/child/above"
touch "$BACK/child/file"
for _ in 1 2 3; do
    listed=$(timeout 20 ls -1 .) || fail "ls ended with $?"
    expect_match "what is in it" "^file$" "$listed"
done
expect_ok timeout 20 stat file
cd / || fail "cd"
unmount
