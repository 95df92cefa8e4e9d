#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files are opened by file handle, as an NFS server does, even after the kernel forgot them and they were renamed.
# It has the kernel drop its caches, also those of other tests.
. "$(dirname "$0")/lib.sh"
need_root

mkdir -p "$BACK/dir"
echo one >"$BACK/one"
echo two >"$BACK/two"
stack
mount_volfile "$VOL"
echo three >"$MNT/three"
expect "what the handles open" "one: one
two: two
three: three" "$("$PROGRAMS/handles" "$MNT" one two three)"

# A handle of what is gone is stale, also if its inode's number is in use again.
echo gone >"$MNT/gone"
mkdir "$MNT/again"
expect_match "after a rename within" '^one.renamed: one$' "$("$PROGRAMS/handles" "$MNT" one.renamed)"
expect "what is in the directory" "again dir gone one.renamed.renamed three.renamed two.renamed" \
    "$(ls "$BACK" | paste -sd' ')"
