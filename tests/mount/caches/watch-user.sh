#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's own mount is told of changes behind it as well, inode by inode; also with few
# descriptors, and where it cannot read.
. "$(dirname "$0")/../lib.sh"
drop_root
need_command fusermount3 python3
. "$(dirname "$0")/watch-lib.sh"

POSIX_OPTIONS="watch=auto" stack
mount_volfile "$VOL" "${HOUR[@]}"
expect "the way" inodes "$(counter watch)"
sees_changes
unmount

# With more files than descriptors nothing is believed of those that aren't watched.
rm -rf "${BACK:?}"/*
POSIX_OPTIONS="watch=inodes descriptor-cache=8" stack
mount_volfile "$VOL" "${HOUR[@]}"
for i in {1..40}; do echo "$i" >"$BACK/$i"; done
expect "all of them" "$(seq 40 | xargs)" "$(cat "$MNT"/{1..40} | xargs)"
for i in {1..40}; do echo "$i again" >"$BACK/$i"; done
for i in {1..40}; do
    sees "file $i" "cat '$MNT/$i'" "$i again"
done
unmount

# All of a file system takes root, and says so.
POSIX_OPTIONS="watch=filesystem" stack
expect_error \
    "option 'watch' is 'filesystem', but '$BACK' cannot be watched \(Operation not permitted\).*root" \
    "$WINDLASS" -f "$VOL" "$MNT"
