#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What can't be mounted is refused at once: exit status 1, the reason on the terminal, and nothing is left mounted.
# builds: debug
. "$(dirname "$0")/lib.sh"

# refused REGEX MOUNTPOINT
refused () {
    "$WINDLASS" -f "$VOL" -l "$LOG" "$2" >out 2>&1
    expect "the exit status for $2" 1 $?
    expect_match "what is said of $2" "$1" "$(cat out)"
    ! is_mounted || fail "it is mounted all the same"
}

stack
touch file
mkdir "$BACK/inside"
refused "mount point 'missing' does not exist" missing
refused "mount point '.*file' must be a directory" file
refused "volume 'posix': directory '$BACK' must not hold its own mount point, '$BACK/inside' \\($VOL:1\\)" "$BACK/inside"
refused "must not hold its own mount point" "$BACK"
ln -s "$BACK" link
refused "must not hold its own mount point" link/inside

mount_volfile "$VOL"
expect "mounted twice" 1 "$("$WINDLASS" -f "$VOL" -l "$TEST_DIR/log2" "$MNT" >out 2>&1; echo $?)"
expect_match "what is said of it" "mount point '$MNT' is already mounted \\(.*test.vol\\)" "$(cat out)"
expect "one mount" 1 "$(grep -c " $MNT " /proc/self/mountinfo)"
unmount

# The directory behind.
mv "$BACK" moved
refused "posix: option 'directory' is '$BACK', which is missing \\(No such file" "$MNT"
touch "$BACK"
refused "posix: option 'directory' is '$BACK', which .*[Nn]ot a directory" "$MNT"
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
