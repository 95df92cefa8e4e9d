#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/utime: reading moves no atime unless noatime is off; two storages that a request reaches
# one after the other give a file the same times; a time that a program sets stays set.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"
need_fuse

age () { touch -a -d 2001-01-01 "$BACK/file"; }
atime () { stat -c %X "$BACK/file"; }

echo text >"$BACK/file"
stack features/utime
mount_volfile "$VOL" -o attribute-timeout=0
age
expect "what is read" text "$(cat "$MNT/file")"
expect "atime after reading" "$(date -d 2001-01-01 +%s)" "$(atime)"
stack features/utime,noatime=off
expect_ok "$WINDLASS" reload "$MNT"
echo more >>"$MNT/file"
age
cat "$MNT/file" >/dev/null
[ "$(atime)" != "$(date -d 2001-01-01 +%s)" ] || fail "with noatime off reading moves no atime"
unmount "$MNT"

# A user that does not own the file reads it, and its time stays.
if [ "$(id -u)" = 0 ]; then
    stack features/utime
    chmod 755 "$TEST_DIR" "$BACK" "$MNT"
    chmod 644 "$BACK/file"
    mount_volfile "$VOL" -o attribute-timeout=0
    age
    user cat "$MNT/file" >/dev/null || fail "another can't read"
    expect "atime after another's reading" "$(date -d 2001-01-01 +%s)" "$(atime)"
    unmount "$MNT"
fi

# Two storages, the second reached 20 ms after the first.
mkdir "$TEST_DIR/a" "$TEST_DIR/b"
both () { # LINE...: of utime
    printf '%s\n' "volume a" "    type storage/posix" "    option directory $TEST_DIR/a" \
        end-volume \
        "volume b" "    type storage/posix" "    option directory $TEST_DIR/b" end-volume \
        "volume late" "    type debug/delay-gen" "    option delay-percentage 100" \
        "    option delay-duration 20000" "    subvolumes b" end-volume \
        "volume both" "    type test/both" "    subvolumes a late" end-volume \
        "volume utime" "    type features/utime" "$@" "    subvolumes both" end-volume >"$VOL"
}
same () { # NAME WHAT: its mtime is the same in both
    expect "mtime of $1 $2" "$(stat -c %.9Y "$TEST_DIR/a/$1")" "$(stat -c %.9Y "$TEST_DIR/b/$1")"
}

both
mount_volfile "$VOL"
for do in 'echo new >file' 'echo more >>file' 'truncate -s 2 file' 'chmod 600 file' 'touch file' \
    'mkdir sub' 'ln -s x link' 'mv file other' \
    'ln other again' 'rm again' ': >other' 'mkfifo pipe' 'rmdir sub'; do
    (cd "$MNT" && eval "$do") || fail "$do"
    for name in "$TEST_DIR"/a/*; do same "$(basename "$name")" "after $do"; done
    same . "after $do"
done
# The daemon's time is not in the future, nor the request's own: a set value stays a value, whatever
# comes before.
echo x >>"$MNT/other"
touch -d '2033-03-03 03:03:03.123456789' "$MNT/other"
expect "a time that was set" "$(date -d '2033-03-03 03:03:03.123456789' +%s.%N)" \
    "$(stat -c %.9Y "$TEST_DIR/b/other")"
same other "after it was set"
echo x >>"$MNT/other"
[ "$(stat -c %Y "$TEST_DIR/b/other")" -lt "$(date -d 2033-03-03 +%s)" ] ||
    fail "a change leaves a time in the future"
same other "after a change of a file from the future"
unmount "$MNT"

both "    option set-times never"
mount_volfile "$VOL"
echo x >>"$MNT/other"
[ "$(stat -c %.9Y "$TEST_DIR/a/other")" != "$(stat -c %.9Y "$TEST_DIR/b/other")" ] ||
    fail "the test can't tell: times are the same anyhow"
unmount "$MNT"

both "    option set-times sometimes"
expect_error "$(basename "$VOL"):[0-9]+:[0-9]+.*set-times.*(auto|always|never)" "$WINDLASS" \
    -f "$VOL" "$MNT"
