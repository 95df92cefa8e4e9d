#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mount that cannot work is refused at once: exit status 1, the reason on the terminal, and
# nothing is left mounted.
# builds: debug
. "$(dirname "$0")/../lib.sh"

# refused REGEX MOUNTPOINT
refused () {
    "$WINDLASS" -f "$VOL" -l "$LOG" "$2" >out 2>&1
    expect "the exit status for $2" 1 $?
    expect_match "what is said of $2" "$1" "$(cat out)"
    ! is_mounted || fail "it is mounted all the same"
}

stack
touch file
refused "mount point '/': a path that begins with '/' does not lead into" /
# Their daemon would wait for itself.
for needed in /proc /sys /bin/mount; do
    holder=$(realpath "$needed")
    [ -d "$holder" ] || holder=$(dirname "$holder")
    refused "mount point '$holder' holds $needed, which is needed while it is mounted" "$holder"
done
mkdir "$BACK/inside"
refused "mount point 'missing' does not exist" missing
refused "mount point '.*file' must be a directory" file
refused "volume 'posix': directory '$BACK' must not hold its own mount point, '$BACK/inside'; .*\\($VOL:1\\)" \
    "$BACK/inside"
ln -s "$BACK" link
refused "must not hold its own mount point" link/inside

mount_volfile "$VOL"
expect "mounted twice" 1 "$("$WINDLASS" -f "$VOL" -l "$TEST_DIR/log2" "$MNT" >out 2>&1; echo $?)"
expect_match "what is said of it" "mount point '$MNT' is already mounted \\(.*test.vol\\)" \
    "$(cat out)"
expect "one mount" 1 "$(grep -c " $MNT " /proc/self/mountinfo)"
unmount

# What is there, and can't be reached while it is mounted: it is mounted, and said.
expect_no_match "nothing to say" notice "$("$WINDLASS" -f "$VOL" -l "$LOG" "$MNT" 2>&1)"
wait_until is_mounted
umount "$MNT" 2>/dev/null || fusermount3 -u "$MNT"
mkdir -p "$MNT/export"
sed "s,$BACK,$MNT/export," "$VOL" >inside.vol
"$WINDLASS" -f inside.vol -l "$LOG" -p pid "$MNT" >out 2>&1 || fail "$(cat out)"
DAEMON=$(cat pid)
expect_match "a mount point that isn't empty" \
    "^windlass: notice: mount point '$MNT' is not empty; what is in it can't be seen" "$(cat out)"
expect_match "an export inside" \
    "^windlass: notice: volume 'posix': directory '$MNT/export' lies in the mount point: .*/inside.vol:1\\)" \
    "$(cat out)"
touch "$MNT/file"
# A reload works on the directory that is under the mount.
printf '%s\n' 'volume more' 'type performance/md-cache' 'subvolumes posix' end-volume >>inside.vol
expect_match "a reload" "has moved to its new graph" "$("$WINDLASS" reload "$MNT")"
expect "a file after it" file "$(ls "$MNT")"
unmount
expect "what is in the export" file "$(ls "$MNT/export")"
rm -r "$MNT/export"
expect_match "a log on a full disk" \
    "log file '.*' can't be written: No space left.*; what it was to say is lost" \
    "$(ln -s /dev/full full && "$WINDLASS" -f "$VOL" -l full -p pid "$MNT" 2>&1)"
wait_until is_mounted
DAEMON=$(cat pid)
unmount

# The directory behind.
mv "$BACK" moved
refused "posix: $VOL:3:22: option 'directory' is '$BACK', which is missing; it must be a directory" \
    "$MNT"
refused "'posix' of type 'storage/posix' \\($VOL:1:8\\) could not be started: No such file" "$MNT"
touch "$BACK"
refused "posix: $VOL:3:22: option 'directory' is '$BACK', which is not a directory; it must" "$MNT"
expect_error "posix: command line: option 'directory' is '/nonexist', which is missing" \
    "$WINDLASS" -f "$VOL" -l "$LOG" --xlator-option=posix.directory=/nonexist "$MNT"
rm "$BACK"
mkdir -m 0 "$BACK"
if [ "$(id -u)" = 0 ]; then
    chown 65534 "$MNT" .
    user "$WINDLASS" -f "$VOL" -l user-log "$MNT" >out 2>&1
    expect "the exit status without permission" 1 $?
    expect_match "what is said of it" "'$BACK'.*Permission denied" "$(cat out)"
fi
echo 'volume x' >"$VOL"
refused "test.vol:1:" "$MNT"
rm "$VOL"
refused "test.vol.*No such file" "$MNT"
