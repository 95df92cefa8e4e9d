#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# lsattr and chattr work as on the bare directory, as far as its file system has such attributes.
. "$(dirname "$0")/../lib.sh"
need_root
need_command lsattr chattr

touch "$BACK/file"
chattr +a "$BACK/file" 2>/dev/null ||
    skip "needs file attributes (chattr) on the file system of $TEST_DIR"
chattr -a "$BACK/file"
stack
mount_volfile "$VOL" --attribute-timeout=0
mkdir "$MNT/dir"
flags () {
    lsattr -d "$1" | cut -d' ' -f1
}

expect_ok chattr +a "$MNT/file"
expect "the attributes" "$(flags "$BACK/file")" "$(flags "$MNT/file")"
expect_match "append only" a "$(flags "$BACK/file")"
echo more >>"$MNT/file" || fail "can't append"
expect_error 'not permitted' sh -c "echo x >'$MNT/file'"
expect_error 'not permitted' rm "$MNT/file"
expect_ok chattr -a +i "$MNT/file"
expect_error 'not permitted' sh -c "echo x >>'$MNT/file'"
expect_ok chattr -i "$MNT/file"
expect_ok chattr +d "$MNT/dir"
expect "a folder's" "$(flags "$BACK/dir")" "$(flags "$MNT/dir")"
expect_error 'not permitted|denied' user chattr +i "$MNT/file"
expect_ok rm "$MNT/file"
unmount

# Its change time is seen at once by who remembers attributes: the kernel, and md-cache.
touch "$BACK/file"
ctime_after_chattr () { # WHERE
    stat "$MNT/file" >/dev/null
    sleep 0.02
    expect_ok chattr +d "$MNT/file"
    expect "the change time after chattr, $1" "$(stat -c %.9Z "$BACK/file")" \
        "$(stat -c %.9Z "$MNT/file")"
    expect_ok chattr -d "$MNT/file"
    unmount
}
mount_volfile "$VOL" --exclusive
ctime_after_chattr "with --exclusive"
stack performance/md-cache,md-cache-timeout=600
mount_volfile "$VOL" --attribute-timeout=0
ctime_after_chattr "with md-cache"
