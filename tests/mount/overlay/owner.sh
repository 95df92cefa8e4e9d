#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# An overlay of an ordinary user over files of root: option owner.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

need_root
need_fuse
let_users_mount
chmod 755 "$TEST_DIR"
mkdir changes
chmod 777 changes
chown 65534 "$MNT"
echo others >"$BACK/file"
chmod 4666 "$BACK/file"
chmod 755 "$BACK"
write_volfile () {
    cat >"$VOL" <<EOF_VOL
volume changes
    type storage/posix
    option directory "$TEST_DIR/changes"
end-volume
volume lower
    type storage/posix
    option directory "$BACK"
end-volume
volume overlay
    type cluster/overlay
    option owner $1
    subvolumes changes lower
end-volume
EOF_VOL
}
mount_as_user () {
    write_volfile "$1"
    user "$WINDLASS" -f "$VOL" -l "$TEST_DIR/changes/log-$1" --passthrough=off "$MNT" ||
        fail "the user could not mount: $(cat changes/log-*)"
}

write_volfile keep
user "$WINDLASS" -f "$VOL" -l "$TEST_DIR/changes/log" "$MNT" 2>said && fail "root's directory"
expect_match "the reason" "can't get the owner of the root of volume 'lower', user 0: with" \
    "$(cat said)"
chown 65534:65534 "$BACK"
mount_as_user keep
expect_error "not permitted" user bash -c "echo more >>'$MNT/file'"
expect "the file" others "$(user cat "$MNT/file")"
expect "what is left in the work directory" "lock records" "$(ls -A changes/work | xargs)"
user "$WINDLASS" umount "$MNT"

mount_as_user daemon
user bash -c "echo more >>'$MNT/file'" || fail "a write to another user's file"
expect "the file" "$(printf 'others\nmore')" "$(user cat "$MNT/file")"
expect "the owner" "$(user id -u)" "$(stat -c %u changes/layers/0/file)"
expect_match "the status" "belong to the daemon's user \(owner daemon\): 1 since" \
    "$(user "$WINDLASS" overlay status "$MNT")"
user "$WINDLASS" umount "$MNT"
