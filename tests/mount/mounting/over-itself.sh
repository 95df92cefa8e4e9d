#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mount over the directory that it exports: it shows the directory's files, moves to other graphs,
# never enters itself, and leaves the bare directory behind. As root, and as an ordinary user.
. "$(dirname "$0")/../lib.sh"

BACK=$MNT # the mount is over its own directory
mkdir -p "$MNT/dir/deep"
echo plain >"$MNT/dir/file"
bare=$(stat -c %i "$MNT/dir/file")

# look: what a user sees of a view through rot-13, at each of its names.
look () {
    expect "the names $1" "$(printf 'dir\ndir/deep\ndir/file')" "$(cd "$MNT" && find dir | sort)"
    expect "a file $1" cynva "$(cat "$MNT/dir/file")"
    expect "its number $1" "$bare" "$(stat -c %i "$MNT/dir/file")"
    expect "the parent's names $1" dir "$(ls "$MNT/dir/..")"
    expect "the top by way of a directory $1" "$(stat -c %d:%i "$MNT")" \
        "$(stat -c %d:%i "$MNT/dir/deep/../..")"
}

stack encryption/rot-13
mount_volfile "$VOL" --attribute-timeout=0 >out 2>&1
expect "nothing to say" '' "$(cat out)"
expect "one mount" 1 "$(grep -c " $MNT " /proc/self/mountinfo)"
look "at first"
expect "the option" "$MNT" "$(cat "$MNT/.meta/graphs/active/posix/options/directory")"
expect_match "the state" "^under-the-mount = yes" "$(cat "$MNT/.meta/graphs/active/posix/private")"
expect_match "what is said of a file" "it is '$MNT/dir/file' under the mount" \
    "$("$WINDLASS" explain "$MNT/dir/file")"
expect_match "the list" "$MNT" "$("$WINDLASS" list)"
expect "free space" "$(stat -f -c %b "$TEST_DIR")" "$(stat -f -c %b "$MNT")"

# An option that changes in place, another graph, and other options of storage.
POSIX_OPTIONS="create-mask=0700" stack encryption/rot-13
expect_match "an option" "create-mask" "$("$WINDLASS" reload "$MNT" 2>&1)"
expect "its effect" 600 "$(umask 0; touch "$MNT/new"; stat -c %a "$MNT/new")"
rm "$MNT/new"
stack encryption/rot-13 performance/md-cache
expect_match "a new graph" "has moved to its new graph" "$("$WINDLASS" reload "$MNT" 2>&1)"
look "in a new graph"
POSIX_OPTIONS="handles=descriptor" stack encryption/rot-13
expect_match "a third graph" "has moved to its new graph" "$("$WINDLASS" reload "$MNT" 2>&1)"
look "in a third graph"

# Away to another directory, and back to the one that no path leads to any more.
mkdir -p "$TEST_DIR/other"
echo other >"$TEST_DIR/other/file"
stack
sed -i "s,$MNT,$TEST_DIR/other," "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect "another directory" other "$(cat "$MNT/file")"
stack encryption/rot-13
sed -i "s,\"$MNT\",\"$MNT/\"," "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
look "after another directory"

# A directory below has not been opened before, and its path leads into the mount.
sed -i "s,\"$MNT/\",\"$MNT/dir\"," "$VOL"
expect_error "directory '$MNT/dir' leads into this mount, '$MNT'.*\\($VOL:1\\)" \
    "$WINDLASS" reload "$MNT"
look "after a reload that was refused"

echo more >"$MNT/dir/more"
unmount
! is_mounted || fail "it is still mounted"
expect "the bare file" plain "$(cat "$MNT/dir/file")"
expect "what was written" zber "$(cat "$MNT/dir/more")"
rm "$MNT/dir/more"

# What lies in the directory and would be opened again.
stack
cp "$VOL" "$MNT/own.vol"
touch "$MNT/rules"
printf '%s\n' 'volume fault' 'type debug/fault' "option rules $MNT/rules" 'subvolumes posix' \
    end-volume >>"$MNT/own.vol"
LOG=$MNT/own.log mount_volfile "$MNT/own.vol" >out 2>&1
expect_match "of the rules" "notice: volume 'fault': rules '$MNT/rules' lies in the mount point" \
    "$(cat out)"
kill -HUP "$DAEMON"
wait_until "grep -q \"can't reopen the log: the mount is over it\" '$MNT/own.log'"
expect_error "'$MNT/own.log' can't be opened: the mount is over it" \
    "$WINDLASS" tell "$MNT" - reopen-log
printf '%s\n' 'volume more' 'type encryption/rot-13' 'subvolumes fault' end-volume \
    >>"$MNT/own.vol"
expect_match "a volfile under the mount" "^$MNT/own.vol:[0-9]+: volume 'more' .* is new" \
    "$("$WINDLASS" reload "$MNT")"
expect "a file through it" cynva "$(cat "$MNT/dir/file")"
echo garbage >"$MNT/own.vol" # rotated
expect_error "$MNT/own.vol:1:1: error: unknown statement 'tneontr'" "$WINDLASS" reload "$MNT"
unmount
rm "$MNT"/own.* "$MNT/rules"

# The owner of a log's folder puts a symbolic link into the mount in its place. The daemon would wait
# for itself, holding the log, which each thread that answers may need.
mkdir logfolder
LOG=$PWD/logfolder/log mount_volfile "$VOL" -L TRACE
mv logfolder before
ln -s "$MNT" logfolder
expect_error "'$PWD/logfolder/log' can't be opened: the mount is over it" \
    timeout -k 1 20 "$WINDLASS" tell "$MNT" - reopen-log
expect "the mount" plain "$(cat "$MNT/dir/file")"
[ ! -e "$MNT/log" ] || fail "there is a log in the mount"
kill -HUP "$DAEMON"
wait_until "grep -q \"can't reopen the log: the mount is over it\" before/log"
unmount
rm -r logfolder before

# After a daemon that was killed, another one takes its place.
stack
mount_volfile "$VOL"
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
mount_volfile "$VOL"
expect "a file after the daemon was killed" plain "$(cat "$MNT/dir/file")"
expect "one mount after it" 1 "$(grep -c " $MNT " /proc/self/mountinfo)"
unmount
expect "the bare file" plain "$(cat "$MNT/dir/file")"

# The mount point is moved into the directory behind the mount: storage doesn't go there.
BACK=$TEST_DIR/back
MNT=$TEST_DIR/outside/mnt
mkdir -p "$MNT" "$BACK"
stack
mount_volfile "$VOL"
mv outside "$BACK/inside"
MNT=$BACK/inside/mnt
for act in ls mkdir rmdir touch; do
    expect_error "Too many levels" "$act" "$MNT/inside/mnt"
done
expect "the names around it" mnt "$(ls "$MNT/inside")"
unmount
rm -r "$BACK/inside"
MNT=$TEST_DIR/mnt

# All of it as an ordinary user.
if [ "$(id -u)" = 0 ] && command -v fusermount3 >/dev/null && [ -r /etc/mtab ]; then
    rm -r "$VOL" "$LOG" out pid other
    drop_root
fi
