#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `windlass list` shows the mounts and their states, `windlass umount` ends one, tells who uses it,
# and returns when everything is written and the daemon is gone. Neither waits for a mount that
# hangs.
# builds: debug
# shellcheck disable=SC2086
. "$(dirname "$0")/lib.sh"

need_root
let_users_mount
need_command setpriv python3

as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
as_other="setpriv --reuid 1 --regid 1 --clear-groups"
# Other mounts of the machine are not looked at: one may hang.
awk '/ - fuse.windlass / { print $5 }' /proc/self/mountinfo | while read -r other; do
    umount -l "$other"
done

# field NAME [USER-COMMAND...]: of $MNT in the list, as JSON.
field () {
    local name=$1
    shift
    timeout 20 "$@" "$WINDLASS" list --json | python3 -c '
import json, sys
print(*[row[sys.argv[2]] for row in json.load(sys.stdin) if row["mountpoint"] == sys.argv[1]])' \
        "$MNT" "$name"
}

# umount [OPTION] MOUNTPOINT, within 25 seconds
end () {
    timeout 25 "$WINDLASS" umount "$@"
}

stack debug/fault performance/write-behind,flush-behind=on
mount_volfile "$VOL"
row=$("$WINDLASS" list | grep -F "$MNT ")
expect_match "the row" "^$MNT +$VOL +$DAEMON +root +answers +20[0-9-]+ [0-9:]+$" "$row"
expect "fields" "$VOL $DAEMON root 0 answers" "$(for name in volume pid user uid state; do
    field "$name"; done | paste -sd' ')"
since=$(date -d "$(field since)" +%s)
began=$(stat -c %Y "/proc/$DAEMON")
[ $((began - since)) -le 2 ] && [ $((since - began)) -le 2 ] || fail "since $since, not $began"
expect "an unprivileged user's view" "answers" "$(field state $as_nobody)"
expect "which process it is, for another user" "None" "$(field pid $as_nobody)"

# Who uses it is told, and it stays mounted.
mkdir "$MNT/folder"
echo text >"$MNT/file"
(cd "$MNT/folder" && exec sleep 60) &
inside=$!
wait_until '[ "$(readlink /proc/$inside/cwd)" = "$MNT/folder" ]'
wait_until 'grep -qx sleep /proc/$inside/comm'
exec 7<"$MNT/file"
mount --bind "$BACK" "$MNT/folder"
said=$(end "$MNT" 2>&1) && fail "a busy mount was unmounted"
expect_match "the folder" "^  sleep \($inside\): current folder $MNT/folder$" "$said"
expect_match "the file" "^  .* \($$\): open file $MNT/file$" "$said"
expect_match "the mount" "^  mounted inside: $MNT/folder$" "$said"
is_mounted || fail "it was unmounted while it was busy"
umount "$MNT/folder"
exec 7<&-
# Lazily it is gone from its place at once, and lives for its user.
expect_ok end --lazy "$MNT"
! is_mounted || fail "it is still there"
is_running "$DAEMON" || fail "the daemon left its user"
kill $inside
wait $inside 2>/dev/null
wait_until "! is_running $DAEMON"

# When it returns, what a close left behind is written, and the daemon is gone.
mount_volfile "$VOL"
"$WINDLASS" fault "$MNT" - <<<'writev,flush -> delay 200ms'
head -c 300000 /dev/zero >"$MNT/late"
(cd "$MNT" && exec "$WINDLASS" umount ../mnt/.) 2>said && fail "it was unmounted from inside"
expect_match "from inside" 'current folder' "$(cat said)"
expect_ok end "$MNT/"
expect "what was written" 300000 "$(stat -c %s "$BACK/late")"
! is_running "$DAEMON" || fail "the daemon is still there"

# A daemon that ends before it has written everything is told.
mount_volfile "$VOL"
kill -STOP "$DAEMON"
wait_until 'grep -q "^State:.T" "/proc/$DAEMON/status"'
end "$MNT" >said 2>&1 &
ending=$!
wait_until '! is_mounted'
kill -KILL "$DAEMON"
wait $ending && fail "a killed daemon was no error"
expect_match "what is said" "process $DAEMON, ended before it had written everything" "$(cat said)"

# One that hangs.
mount_volfile "$VOL"
"$WINDLASS" fault "$MNT" - <<<'statfs -> hang'
expect "its state" stuck "$(field state)"
expect_ok end --lazy "$MNT"
wait_until "! is_running $DAEMON"

# One that is stopped, and one that is dead.
mount_volfile "$VOL"
kill -STOP "$DAEMON"
wait_until 'grep -q "^State:.T" "/proc/$DAEMON/status"'
expect "the state of a stopped one" stuck "$(field state)"
kill -KILL "$DAEMON"
wait_until "! is_running $DAEMON"
expect "the state of a dead one" dead "$(field state)"
expect "its process" None "$(field pid)"
expect_ok end "$MNT"
! is_mounted || fail "a dead mount is still there"

# A user's own. Root is told of it, too, and another user that it is private.
chown 65534 "$BACK" "$MNT"
user env HOME="$TEST_DIR" "$WINDLASS" -f "$VOL" -l /tmp/windlass-65534/log -p \
    /tmp/windlass-65534/pid "$MNT" || fail "the user can't mount"
DAEMON=$(cat /tmp/windlass-65534/pid)
name=$(id -nu 65534 2>/dev/null || echo 65534)
for as in "" "$as_nobody"; do
    expect "a user's mount for '$as'" "$DAEMON $name answers" \
        "$(for f in pid user state; do field $f $as; done | paste -sd' ')"
done
expect "for another user" "None private" \
    "$(for f in pid state; do field $f $as_other; done | paste -sd' ')"
expect_error "not permitted: '$MNT' belongs to user 65534" $as_other "$WINDLASS" umount "$MNT"
cd "$BACK" || exit 1
$as_nobody env -C / sh -c 'exec 8>"$1/held"; exec sleep 60' - "$MNT" &
inside=$!
wait_until 'grep -qx sleep /proc/$inside/comm'
expect_error "sleep \($inside\): open file $MNT/held" $as_nobody timeout 25 "$WINDLASS" umount \
    "$MNT"
kill $inside
wait $inside 2>/dev/null
expect_ok $as_nobody timeout 25 "$WINDLASS" umount "$MNT"
! is_running "$DAEMON" || fail "the user's daemon is still there"

expect_error "is not a mount point; 'windlass list' shows them" "$WINDLASS" umount "$MNT"
expect_error "is not a Windlass mount, but one of type 'proc'" "$WINDLASS" umount /proc
