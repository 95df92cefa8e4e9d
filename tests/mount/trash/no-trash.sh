#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's own daemon that may not write in the root: told at the mount; removals are for good, or,
# with no-trash refuse, fail. The option is online.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
let_users_mount
chmod 755 "$TEST_DIR" "$BACK"
chown 65534 "$MNT" "$TEST_DIR"
mkdir "$BACK/home"
chown 65534 "$BACK/home"

# user_mount: mounts as the user.
user_mount () {
    rm -f "$LOG"
    expect_ok user "$WINDLASS" -f "$VOL" -l "$LOG" -p "$TEST_DIR/pid" "$MNT"
    DAEMON=$(cat "$TEST_DIR/pid")
}

for layout in freedesktop gluster; do
    stack features/trash,trash=on,layout=$layout,settle=50ms
    user_mount
    wait_until 'grep -q "may not make a trash in the root.*removed for good\|can.t be made or used" "$LOG"'
    [ "$layout" = gluster ] ||
        expect_match "explain before" "is removed for good, as no trash can be made: EACCES" \
            "$("$WINDLASS" explain "$MNT")"
    user touch "$MNT/home/file"
    user sh -c 'echo text >"$1/home/file"' - "$MNT"
    expect_ok user rm "$MNT/home/file"
    expect_match "$layout: explain" "1 names were removed for good instead, lastly for EACCES" "$("$WINDLASS" explain "$MNT")"
    sed -i 's|option layout|option no-trash refuse\n    option layout|' "$VOL"
    expect_ok "$WINDLASS" reload "$MNT"
    user touch "$MNT/home/stays" "$MNT/home/other"
    expect_error 'Permission denied' user rm "$MNT/home/stays"
    [ "$layout" = gluster ] ||
        expect_match "explain" "can't be removed, as no trash can be made: EACCES" \
            "$("$WINDLASS" explain "$MNT")"
    expect "$layout: it stays" stays "$(ls "$BACK/home" | grep stays)"
    expect_match "$layout: explain" "1 removals failed, since no trash can be made" "$("$WINDLASS" explain "$MNT")"
    expect "$layout: told" 1 "$(grep -c "'stays' is not removed, since no trash can be made" "$LOG")"
    user mkdir "$MNT/home/empty"
    expect_ok user rmdir "$MNT/home/empty"
    sed -i "s|option no-trash refuse|option no-trash remove|" "$VOL"
    expect_ok "$WINDLASS" reload "$MNT"
    expect_ok user rm "$MNT/home/stays" "$MNT/home/other"
    unmount
done

# A file that a rename would replace.
stack features/trash,no-trash=refuse,keep=overwritten,settle=50ms
user_mount
wait_until 'grep -q "may not make a trash in the root.*removals fail" "$LOG"'
user touch "$MNT/home/old" "$MNT/home/new"
expect_error 'Permission denied' user mv "$MNT/home/new" "$MNT/home/old"
expect "both stay" "new old" "$(ls "$BACK/home" | xargs)"
unmount

# Root's daemon has a trash, and lack of space is no reason to refuse.
rm -f "$LOG" "$TEST_DIR/pid"
chown 0 "$TEST_DIR"
stack debug/fault features/trash,no-trash=refuse,settle=50ms
mount_volfile "$VOL"
expect_ok "$WINDLASS" fault "$MNT" - <<<'mkdir path "/.windlass-trash*" -> error ENOSPC'
expect_ok rm "$MNT/home/old"
expect_no_match "the log" "may not make a trash" "$(cat "$LOG")"
unmount
