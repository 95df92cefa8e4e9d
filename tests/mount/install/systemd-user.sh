#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass@.service of a user, under a systemd --user: volfile in ~/.config/windlass, fusermount3,
# and a killed daemon.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/systemd-lib.sh"
[ -n "${INSIDE-}" ] || let_users_mount
begin_inside user

show () {
    systemctl --user show --value -p "$1" windlass@data
}
# shellcheck disable=SC2088 # the unit's
{ echo '# x-mount: ~/a mount'; stack encryption/rot-13; cat "$VOL"; } >"$ETC/data.vol"
MNT="$HOME/a mount"
echo uryyb >"$BACK/file"

expect "what systemd-analyze says" '' \
    "$(systemd-analyze --user verify --man=no windlass@data.service 2>&1 | grep windlass)"
expect_ok systemctl --user start windlass@data
expect "right after the start" hello "$(cat "$MNT/file")"
expect "its state" "active Mounted on $MNT" "$(show ActiveState) $(show StatusText)"
DAEMON=$(show MainPID)
expect "whose daemon it is" 65534 "$(stat -c %u "/proc/$DAEMON")"
expect_ok systemctl --user reload windlass@data
kill -9 "$DAEMON"
wait_until '[ "$(show NRestarts)" = 1 ] && [ "$(show ActiveState)" = active ]'
expect "after kill -9" hello "$(cat "$MNT/file")"
expect "mounts there" 1 "$(grep -c '/a.040mount .*fuse.windlass' /proc/self/mountinfo)"
DAEMON=$(show MainPID)
expect_ok systemctl --user stop windlass@data
! is_mounted || fail "it is mounted after the stop"
! is_running "$DAEMON" || fail "the daemon goes on after the stop"
expect "its end" "inactive success" "$(show ActiveState) $(show Result)"
