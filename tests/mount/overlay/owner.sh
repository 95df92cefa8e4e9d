#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# An overlay of an ordinary user over files of root: option owner.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_fuse
let_users_mount
chmod 755 "$TEST_DIR"
mkdir -m 777 "$UPPER"
chown 65534 "$MNT"
echo others >"$BACK/file"
chmod 4666 "$BACK/file"
chmod 755 "$BACK"
mount_as_user () {
    overlay_volfile owner "$1"
    user "$WINDLASS" -f "$VOL" -l "$TEST_DIR/changes/log-$1" --passthrough=off "$MNT" ||
        fail "the user could not mount: $(cat changes/log-*)"
}

overlay_volfile owner keep
user "$WINDLASS" -f "$VOL" -l "$TEST_DIR/changes/log" "$MNT" 2>said && fail "root's directory"
expect_match "the reason" "can't get the owner of the root of volume 'lower', user 0: with" \
    "$(cat said)"
chown 65534:65534 "$BACK"
mount_as_user keep
expect_error "not permitted" user bash -c "echo more >>'$MNT/file'"
expect "the file" others "$(user cat "$MNT/file")"
expect "what is left in the work directory" "index lock records" "$(ls -A changes/work | xargs)"
user "$WINDLASS" umount "$MNT"

mount_as_user daemon
user bash -c "echo more >>'$MNT/file'" || fail "a write to another user's file"
expect "the file" "$(printf 'others\nmore')" "$(user cat "$MNT/file")"
expect "the owner" "$(user id -u)" "$(stat -c %u changes/layers/0/file)"
expect_match "the status" "belong to the daemon's user \(owner daemon\): 1 since" \
    "$(user "$WINDLASS" overlay status "$MNT")"
user "$WINDLASS" umount "$MNT"
