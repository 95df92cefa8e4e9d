#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's mount shows .meta to that user alone: root does not even get into the mount.
. "$(dirname "$0")/../lib.sh"
let_users_mount
need_command setpriv

chmod 755 "$TEST_DIR"
chown -R 65534:65534 "$BACK" "$MNT"
stack encryption/rot-13
mkdir -m 777 logs
user env "HOME=$TEST_DIR" "$WINDLASS" -f "$VOL" -l logs/log -p logs/pid "$MNT" ||
    fail "a user can't mount: $(cat logs/log)"
DAEMON=$(cat logs/pid)
M=$MNT/.meta
expect "whose it is" "65534 500" "$(user stat -c '%u %a' "$M")"
expect "what he reads" rot-13-1 "$(user cat "$M/graphs/active/top/name")"
# shellcheck disable=SC2016 # the inner shell expands it
expect "what he writes" 9 \
    "$(user sh -c 'echo TRACE >"$1" && cat "$1"' sh "$M/graphs/active/top/loglevel")"
expect_error 'Permission denied' ls "$M"
expect_error 'Permission denied' setpriv --reuid 1001 --clear-groups cat "$M/version"
user fusermount3 -u "$MNT"
wait_until "! is_running $DAEMON"
DAEMON=''
