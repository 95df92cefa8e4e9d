#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Neither the kernel nor a cache keeps names, listings or times of the folders of a trash, though
# both keep all else for a day: what a job moves there is seen at once, and what a command takes out
# is gone.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

CACHES="performance/readdir-ahead,rda-cache-timeout=600 performance/open-behind
    performance/quick-read performance/md-cache,md-cache-timeout=60
    performance/nl-cache,nl-cache-positive-entry=on,nl-cache-timeout=600"

# folders DIR: the names in the folders of the trash, and their times.
folders () {
    (cd "$1/.Trash-0" && ls files info | xargs && stat -c %y files info)
}

shown () { folders "$MNT"; }
stored () { folders "$BACK"; }

# The cases for the stack that is mounted.
see_it () {
    ! [ -e "$MNT/.Trash-0" ] || fail "there is a trash already"
    echo 1 >"$MNT/first"
    rm "$MNT/first"
    settled
    wait_until '[ -e "$MNT/.Trash-0" ]' # a notice comes for the root, whose names are kept
    for name in second third; do
        ! [ -e "$MNT/.Trash-0/files/$name" ] || fail "$name is there already"
        shown >/dev/null
        expect "twice the same" "$(shown)" "$(shown)"
        echo "$name" >"$MNT/$name"
        rm "$MNT/$name"
        settled
        expect "its content" "$name" "$(cat "$MNT/.Trash-0/files/$name")"
        expect "what is seen with $name" "$(stored)" "$(shown)"
    done
    "$WINDLASS" trash restore "$MNT" second >/dev/null || fail "not restored"
    ! [ -e "$MNT/.Trash-0/files/second" ] || fail "the restored file is still in the trash"
    expect "what is seen without second" "$(stored)" "$(shown)"
    expect "restored" second "$(cat "$MNT/second")"
    "$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"
    expect "what is seen at the end" "$(stored)" "$(shown)"
}

# A file manager makes the folders itself, and a program renames one to its place.
# shellcheck disable=SC2086
stack features/trash,settle=50ms $CACHES
mount_volfile "$VOL" -o exclusive
see_it
rm -r "$MNT/.Trash-0"
mkdir -p -m 700 "$MNT/.Trash-0/info" "$MNT/.Trash-0/made"
ls "$MNT/.Trash-0/made"
mv "$MNT/.Trash-0/made" "$MNT/.Trash-0/files"
! [ -e "$MNT/.Trash-0/files/own" ] || fail "own is there already"
ls "$MNT/.Trash-0/files" "$MNT/.Trash-0/info" >/dev/null
echo own >"$MNT/own"
rm "$MNT/own"
settled
expect "what is seen in folders of one's own" "$(stored)" "$(shown)"
unmount
rm -r "$BACK"
mkdir "$BACK"

# The trash above the caches.
# shellcheck disable=SC2086
stack $CACHES features/trash,settle=50ms
mount_volfile "$VOL" -o exclusive
see_it
unmount
rm -r "$BACK"
mkdir "$BACK"

# GlusterFS's: the folders below it are unkept, too.
# shellcheck disable=SC2086
stack features/trash,layout=gluster,trash=on $CACHES
mount_volfile "$VOL" -o exclusive
mkdir "$MNT/folder"
echo 1 >"$MNT/folder/first"
rm "$MNT/folder/first"
ls "$MNT/.trashcan/folder" >/dev/null
echo 2 >"$MNT/folder/second"
rm "$MNT/folder/second"
expect "two in GlusterFS's" "$(ls "$BACK/.trashcan/folder" | xargs)" \
    "$(ls "$MNT/.trashcan/folder" | xargs)"
expect "their number" 2 "$(ls "$MNT/.trashcan/folder" | wc -l)"
