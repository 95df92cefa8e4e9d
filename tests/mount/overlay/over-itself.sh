#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A view over the directory that it shows: programs see it at the paths that they have always had.
# The folder of the changes may lie in the directory, which the view does not show; after the mount
# the directory is as bare as before. The same where the mount point lies in the directory. As root,
# and as an ordinary user.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_fuse
BACK=$MNT # the mount is over its own directory
mkdir -p "$MNT/dir/deep" "$MNT/dir/other" "$MNT/gone"
echo one >"$MNT/dir/file"
echo two >"$MNT/dir/deep/second"
echo three >"$MNT/gone/third"
echo kept >"$MNT/dir/other/kept"

# listing DIR: names, types, modes and contents; without the folder of the changes.
listing () {
    (cd "$1" && find . -name changes -prune -o -printf '%p %y %m %l\n' | sort &&
        find . -name changes -prune -o -type f -exec md5sum {} + | sort -k 2)
}
moves_on () {
    expect_match "$1" "has moved to its new graph" "$("$WINDLASS" reload "$MNT" 2>&1)"
}

# works FOLDER SAID: a view over $MNT, whose changes lie in FOLDER. SAID: what windlass says.
works () {
    local bare number
    UPPER=$1
    mkdir "$UPPER"
    bare=$(listing "$MNT")
    number=$(stat -c %i "$MNT/dir/file")
    overlay_volfile
    mount_volfile "$VOL" >out 2>&1
    expect "what is said" "$2" "$(cat out)"
    expect "one mount" 1 "$(grep -c " $MNT " /proc/self/mountinfo)"
    expect "what the view shows" "$bare" "$(listing "$MNT")"
    expect "the names at the top" "dir gone" "$(ls -A "$MNT" | xargs)"
    expect "the top by way of a directory" "$(stat -c %d:%i "$MNT")" \
        "$(stat -c %d:%i "$MNT/dir/deep/../..")"
    echo changed >"$MNT/dir/file"
    echo new >"$MNT/dir/new"
    mv "$MNT/dir/deep/second" "$MNT/dir/moved"
    rm -r "$MNT/gone"
    mkdir "$MNT/made"
    expect "the number of a changed file" "$number" "$(stat -c %i "$MNT/dir/file")"
    shown=$(listing "$MNT")
    expect "the changes" "A.dir/moved A.dir/new A.made D.dir/deep/second D.gone M.dir/file" \
        "$(changes | tr '\t' . | xargs)"

    # An option that changes in place; another graph; the folder cannot be found by its path now.
    overlay_volfile owner daemon
    expect_ok "$WINDLASS" reload "$MNT"
    overlay_volfile
    sed -i 's|^volume overlay|volume rot\n    type encryption/rot-13\n    subvolumes lower\nend-volume\n&|
        s|subvolumes changes lower|subvolumes changes rot|' "$VOL"
    moves_on "another graph"
    expect "a file through it" xrcg "$(cat "$MNT/dir/other/kept")"
    overlay_volfile
    moves_on "the graph of before"
    expect "what the view shows after reloads" "$shown" "$(listing "$MNT")"
    echo more >>"$MNT/dir/new"
    expect_ok overlay freeze "$MNT"
    echo more >>"$MNT/dir/other/late"
    unmount
    ! is_mounted || fail "it is still mounted"
    expect "the bare directory" "$bare" "$(listing "$MNT")"

    # After a daemon that was killed another one takes its place.
    mount_volfile "$VOL"
    kill -9 "$DAEMON"
    wait_until "! is_running $DAEMON"
    mount_volfile "$VOL"
    expect "one mount after a kill" 1 "$(grep -c " $MNT " /proc/self/mountinfo)"
    expect "a changed file after a kill" "changed more more" \
        "$(cat "$MNT/dir/file" "$MNT/dir/other/late" <(tail -n 1 "$MNT/dir/new") | xargs)"

    # The changes become part of the directory under the mount, or go.
    expect_ok overlay commit "$MNT"
    shown=$(listing "$MNT")
    echo dropped >"$MNT/dir/dropped"
    echo applied >"$MNT/applied"
    expect_ok overlay apply "$MNT" applied
    expect_ok overlay discard "$MNT"
    expect "no changes" "" "$(changes)"
    rm "$MNT/applied"
    expect_ok overlay apply "$MNT" /
    unmount
    expect "the directory after a commit" "$shown" "$(listing "$MNT")"
    expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
    chmod -R u+w "$UPPER"
    rm -r "$MNT"
    : >"$LOG"
}

again () { # the directory of before
    rm -rf "$MNT"
    cp -a "$TEST_DIR/before" "$MNT"
}
cp -a "$MNT" before
works "$TEST_DIR/changes" ""
hides="lies in the mount point: while it is mounted, that path shows the mount ($VOL:1)"
again
works "$MNT/changes" "windlass: notice: volume 'changes': directory '$MNT/changes' $hides"
again
works "$MNT/dir/deep/changes" \
    "windlass: notice: volume 'changes': directory '$MNT/dir/deep/changes' $hides"
again

# The mount point and the folder in the directory: it shows as an empty directory.
UPPER=$MNT/dir/changes
mkdir "$UPPER"
rm -r "$MNT/dir/other"
mkdir -p "$MNT/dir/point/covered"
BACK=$MNT
MNT=$BACK/dir/point
overlay_volfile
mount_volfile "$VOL" >out 2>&1
inside () {
    expect "the names $1" "./dir ./dir/deep ./dir/deep/second ./dir/file ./dir/point ./gone ./gone/third" \
        "$(cd "$MNT" && find . -mindepth 1 | sort | xargs)"
}
inside "around the mount point"
expect_error "busy|denied" touch "$MNT/dir/point/made"
overlay_volfile owner daemon
expect_ok "$WINDLASS" reload "$MNT"
inside "after a reload"
expect "no changes" "" "$(changes)"
unmount
rm -r "$UPPER"
MNT=$BACK

[ "$(id -u)" != 0 ] || { rm -rf before changes "$VOL" "$LOG" out pid; chown 65534 .; drop_root; }
