#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/read-only: each change and each open for writing fails with EROFS and changes nothing;
# reading, locks and fsync pass. A reload turns it off and on, and then a file that is open for
# writing takes no more.
# builds: release debug
. "$(dirname "$0")/../lib.sh"
need_command setfattr flock fallocate

# What the directory holds, times of reading left out.
held () {
    (cd "$BACK" && find . -printf '%p %y %m %U %G %s %n %l %T@ %C@\n' -type f -exec md5sum {} \; |
        sort)
}

mkdir "$BACK/dir" "$BACK/empty"
echo text >"$BACK/file"
ln -s file "$BACK/link"
before=$(held)
stack features/read-only
mount_volfile "$VOL"
cd "$MNT" || fail "no mount"
while read -r change; do
    LC_ALL=C bash -c "$change" >"$TEST_DIR/said" 2>&1 && fail "this passes: $change"
    expect_match "$change" 'Read-only file system' "$(cat "$TEST_DIR/said")"
    expect "the directory after $change" "$before" "$(held)"
done <<'END'
: >new
mkdir new
mkfifo new
ln -s file new
ln file new
mv file new
mv -T empty dir
rm -f file
rmdir empty
echo more >>file
: >file
: <>file
truncate -s 2 file
chmod 600 file
chmod 700 .
touch file
touch -h link
setfattr -n user.a -v b file
cp --reflink=never file new
python3 -c 'import os; os.open (".", os.O_TMPFILE | os.O_RDWR)'
python3 -c 'import os; os.open ("file", os.O_RDONLY | os.O_TRUNC)'
END
expect "what is read" text "$(cat link)"
expect "the names" "dir empty file link" "$(echo *)"
expect_ok flock -x file true
expect_ok sync file dir
expect_match "what explain says" 'refuses every change with EROFS' "$("$WINDLASS" explain file)"
cd "$TEST_DIR"

# An ioctl that sets flags is refused, and the one that reads them passes.
if [ "$(id -u)" = 0 ] && lsattr "$BACK/file" >/dev/null 2>&1; then
    expect "set, as 64 and as 32 bits" $'EROFS\nENOTTY' "$("$PROGRAMS/setflags" "$MNT/file")"
    expect "read" "$(lsattr "$BACK/file" | cut -d' ' -f1)" "$(lsattr "$MNT/file" | cut -d' ' -f1)"
fi

# Off, and on again under an open file.
stack features/read-only,read-only=off
expect_ok "$WINDLASS" reload "$MNT"
exec 7>>"$MNT/file"
echo more >&7
expect "written while it is off" $'text\nmore' "$(cat "$BACK/file")"
stack features/read-only
expect_ok "$WINDLASS" reload "$MNT"
expect_error 'Read-only file system' bash -c 'echo again >&7'
expect "after it is on again" $'text\nmore' "$(cat "$BACK/file")"
exec 7>&-
unmount
