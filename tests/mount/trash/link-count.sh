#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The link count of the root counts the folders that callers see, and not that of the stages: by
# stat, by fstat, in a listing, and after changes in the root that a cache above has seen.
. "$(dirname "$0")/lib.sh"
need_fuse
need_command python3

mkdir "$BACK/one" "$BACK/one/deep"
[ "$(stat -c %h "$BACK")" = 3 ] || skip "needs a file system that counts folders as links"
touch "$BACK/file"

# counts: prints the link count of the root by stat, by fstat and in listings, and what it should be.
counts () {
    python3 - "$MNT" <<'END'
import os, sys
root = sys.argv[1]
fd = os.open(root, os.O_RDONLY)
print(os.stat(root).st_nlink, os.fstat(fd).st_nlink, os.stat(root + "/one/..").st_nlink,
      2 + sum(os.path.isdir(os.path.join(root, name)) for name in os.listdir(root)))
END
}

for above in "" performance/md-cache,md-cache-timeout=600; do
    stack features/trash,settle=1h $above
    mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
    expect "before" "3 3 3 3" "$(counts)"
    echo text >"$MNT/dropped"
    rm "$MNT/file"
    [ -d "$BACK/.windlass-trash" ] || fail "there is no stage"
    wait_until '[ "$(counts)" = "3 3 3 3" ]'
    mkdir "$MNT/two"
    expect "a folder more" "4 4 4 4" "$(counts)"
    chmod 711 "$MNT"
    chmod 755 "$MNT"
    touch "$MNT/new"
    expect "after changes" "4 4 4 4" "$(counts)"
    mv "$MNT/two" "$MNT/one/two"
    expect "a folder less" "3 3 3 3" "$(counts)"
    find "$MNT" -name two | grep -q . || fail "find does not see a folder"
    rmdir "$MNT/one/two"
    rm "$MNT/new"
    wait_until '[ "$(counts)" = "3 3 3 3" ]'
    unmount
    rm -rf "$BACK"/.Trash-* "$BACK/dropped"
    touch "$BACK/file"
done
