#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass@.service under a systemd: its start returns when the mount answers, and the machine sees
# it; a killed daemon is replaced; reload, stop, errors, and what the journal gets.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/systemd-lib.sh"
begin_inside system

# show PROPERTY: of the instance.
show () {
    systemctl show --value -p "$1" windlass@data
}
pid_now () {
    DAEMON=$(show MainPID)
}
MNT="$TEST_DIR/a mount"
stack encryption/rot-13
mkdir -p "$ETC"
{ echo "  # x-mount:  $MNT "; cat "$VOL"; echo '# x-mount: /elsewhere'; } >"$ETC/data.vol"
echo uryyb >"$BACK/file"

# --- start, what the machine sees, reload -------------------------------------------------------

expect_ok systemctl start windlass@data
expect "right after the start" "hello" "$(cat "$MNT/file")"
expect "its state" "active running Mounted on $MNT" \
    "$(show ActiveState) $(show SubState) $(show StatusText)"
expect_match "windlass doctor" 'log.*the journal of systemd' "$("$WINDLASS" doctor "$MNT" 2>&1)"
pid_now
expect "the daemon's mount namespace" "$(readlink /proc/self/ns/mnt)" \
    "$(readlink "/proc/$DAEMON/ns/mnt")"
sed -i 's/type encryption.rot-13/&\n    option encrypt-write off/' "$ETC/data.vol"
expect_ok systemctl reload windlass@data
expect_match "the reload" 'encrypt-write' "$("$WINDLASS" graph "$MNT")"
expect "after the reload" "active Mounted on $MNT" "$(show ActiveState) $(show StatusText)"
cp "$ETC/data.vol" good.vol
echo nonsense >>"$ETC/data.vol"
expect_error 'failed' systemctl reload windlass@data
expect "after a reload that was refused" "active hello" "$(show ActiveState) $(cat "$MNT/file")"
cp good.vol "$ETC/data.vol"

# --- killed: no dead mount point, and the mount is there again ----------------------------------

cd "$MNT" || fail "can't enter the mount" # which keeps the mount of the killed daemon busy
kill -9 "$DAEMON"
cd "$TEST_DIR" || fail "can't leave"
wait_until "[ \$(show NRestarts) = 1 ] && [ \$(show ActiveState) = active ]"
expect "after kill -9" hello "$(cat "$MNT/file")"
expect "mounts there" 1 "$(grep -cF "$(basename "$TEST_DIR")/a\\040mount " /proc/self/mountinfo)"
pid_now

# --- stop ---------------------------------------------------------------------------------------

exec 7<"$MNT/file" # the mount is in use
expect_ok systemctl stop windlass@data
exec 7<&-
! is_mounted || fail "it is mounted after the stop"
! is_running "$DAEMON" || fail "the daemon goes on after the stop"
expect "its end" "inactive success" "$(show ActiveState) $(show Result)"

# Whoever unmounts ends it, too.
expect_ok systemctl start windlass@data
umount "$MNT" || fail "can't unmount"
wait_until "[ \$(show ActiveState) = inactive ]"
expect "after umount" success "$(show Result)"

# --- what the journal got -----------------------------------------------------------------------

journalctl --flush 2>/dev/null
# fields MATCH...: of each entry, as NAME=VALUE.
fields () {
    journalctl -o json "$@" |
        python3 -c 'import json, sys
for line in sys.stdin:
    print (" ".join ("=".join (pair) for pair in sorted (json.loads (line).items ())
                     if pair[0].startswith (("CODE_", "MESSAGE", "PRIO", "SYSLOG_I", "WINDLASS"))))'
}
expect_match "a line about the program" \
    "CODE_FILE=[^ ]*main.c CODE_FUNC=mount_and_run CODE_LINE=[0-9]+ \
MESSAGE='$MNT' is mounted PRIORITY=6 SYSLOG_IDENTIFIER=windlass WINDLASS_LEVEL=INFO \
WINDLASS_MOUNTPOINT=$MNT\$" "$(fields -u windlass@data WINDLASS_LEVEL=INFO)"

# --- another instance, by NAME.conf; a mount that another daemon serves stays -------------------

cp "$VOL" "$ETC/other.vol"
printf 'MOUNT="%s/other"\nOPTIONS=-o ro -L TRACE -l "%s/the log"\n' "$TEST_DIR" "$TEST_DIR" \
    >"$ETC/other.conf"
expect_ok systemctl start windlass@other
expect_error 'Read-only' touch other/new
expect_match "its log" 'T \[.*posix' "$(cat "the log")"
expect "its entries in the journal" 0 "$(fields -u windlass@other WINDLASS_LEVEL=INFO | wc -l)"
cp "$ETC/other.vol" "$ETC/third.vol"
cp "$ETC/other.conf" "$ETC/third.conf"
expect_error 'failed' systemctl start windlass@third
expect "what the other daemon serves" hello "$(cat other/file)"
expect_match "what is said" "other' is already mounted" "$(journalctl -o cat -u windlass@third)"
expect_ok systemctl stop windlass@third windlass@other

# --- what is wrong is said ----------------------------------------------------------------------

wrong () { # REGEX
    expect_error 'failed' systemctl start windlass@wrong
    expect_match "what is said" "$1" "$(journalctl -o cat -u windlass@wrong)"
    systemctl stop windlass@wrong
}
wrong "there is no volfile '$ETC/wrong.vol'"
cp "$VOL" "$ETC/wrong.vol"
wrong "no mount point: write a line '# x-mount: .*MOUNT=.*wrong.conf"
echo 'MOUNT=relative' >"$ETC/wrong.conf"
wrong "must begin with '/' or '~/', got 'relative'"
printf 'MOUNT=%s\nOPTIONS=--nonsense\n' "$MNT" >"$ETC/wrong.conf"
wrong "nonsense"
expect "tries after a usage error" 0 "$(systemctl show --value -p NRestarts windlass@wrong)"

# --- why the unit is not confined more: a mount namespace hides the mount -----------------------

printf '[Service]\nProtectSystem=yes\n' >"$UNITS/windlass@.service.d/hides.conf"
systemctl daemon-reload
expect_ok systemctl start windlass@data
! is_mounted || fail "the mount of a daemon with ProtectSystem is seen"
expect_ok systemctl stop windlass@data
