#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each volfile that comes with Windlass mounts, and a file written through it reads the same, or the
# volfile is there to refuse it.
. "$(dirname "$0")/../lib.sh"

mkdir changes # of cluster/overlay
for file in "$SOURCE_DIR"/volfiles/*.vol; do
    echo "$file"
    sed "s|^\( *option directory\) /srv/export|\1 $BACK|
        s|^\( *option directory\) /srv/changes|\1 $TEST_DIR/changes|
        s|^\( *option log-directory\) .*|\1 $TEST_DIR|" "$file" >"$VOL"
    expect_ok "$WINDLASS" check "$VOL"
    grep -q 'type protocol/client' "$VOL" && continue # mounted by mount/brick/brick
    ! grep -q 'type features/subdirectory' "$VOL" || mkdir -p "$BACK/projects/one"
    mount_volfile "$VOL"
    if grep -q 'type features/read-only' "$VOL"; then
        expect_error 'Read-only file system' touch "$MNT/file"
        unmount
        continue
    fi
    echo "written through ${file##*/}" >"$MNT/file"
    expect "what is read through ${file##*/}" "written through ${file##*/}" "$(cat "$MNT/file")"
    expect_ok rm "$MNT/file"
    unmount
    rm -rf "$BACK/projects" # of features/subdirectory
    rm -rf "$BACK"/.Trash-* # of features/trash, which has the file
    expect "what ${file##*/} leaves in the directory" "" "$(ls -A "$BACK")"
done
