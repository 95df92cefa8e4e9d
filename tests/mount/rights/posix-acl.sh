#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# system/posix-acl through a mount: as a second check, and as the one that decides (acl=translator).
# Random cases give the results of a bare directory; changes count at once; explain says which entry
# decides; bad options are refused.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setfacl getfacl setpriv

mkdir bare
setfacl -m u:1:r bare 2>/dev/null || skip "needs ACLs on the file system of $TEST_DIR"
setfacl -b bare
: "${SEED:=1}"
as () { # UID COMMAND...
    setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"
}

# --- as a second check, and alone
stack system/posix-acl
expect_match "by check" "test.vol:5:8: warning: volume 'posix-acl-1' .*acl=translator" \
    "$("$WINDLASS" check "$VOL" 2>&1)"
for options in "" --acl=translator; do
    # shellcheck disable=SC2086 # none or one
    # One process is many callers here, by turns.
    : >"$LOG"
    mount_volfile "$VOL" $options -o suid,dev --gid-timeout=0
    # Who decides is said at the mount.
    said=$(grep -c "test.vol:5:8: volume 'posix-acl-1' .*second check.*acl=translator" "$LOG")
    expect "a notice with '$options'" "$([ -n "$options" ] || echo 1)" "${said#0}"
    "$PROGRAMS/rights" bare "$MNT" "$SEED" "${CASES:-50}" ${options:+refused} >out ||
        fail "rights differ with '$options': $(cat out)"
    tail -1 out
    unmount
done

# --- it decides: also for names that the kernel knows, and with storage that knows no user
mount_volfile "$VOL" --acl=translator
mkdir -m 711 "$MNT/dir"
echo secret >"$MNT/dir/file"
setfacl -m u:1001:r,u:1002:rw "$MNT/dir/file"
chmod 640 "$MNT/dir/file"
expect "reading by an ACL" secret "$(as 1001 cat "$MNT/dir/file")"
expect_error "Permission denied" as 1002 sh -c "echo more >>'$MNT/dir/file'" # the mask
expect_error "Permission denied" as 1003 cat "$MNT/dir/file"
chmod 700 "$MNT/dir"
expect_error "Permission denied" as 1001 cat "$MNT/dir/file"
chmod 711 "$MNT/dir"
expect "reading again" secret "$(as 1001 cat "$MNT/dir/file")"
setfacl -x u:1001 "$MNT/dir/file"
expect_error "Permission denied" as 1001 cat "$MNT/dir/file"
setfacl -m u:1001:r "$MNT/dir/file"
as 1001 cat "$MNT/dir/file" >/dev/null
explained=$("$WINDLASS" explain --all "$MNT/dir/file")
expect_match "the owner" 'user 0, who owns it: rw- by the mode' "$explained"
expect_match "one by an entry" 'user 1001: r-- by user:1001:r--' "$explained"
expect_match "root" 'user 0: everything \(super-uid\)' "$explained"
expect_match "what takes part" 'takes part in: .*lookup.*; all others pass by' "$explained"
setfacl -m m::- "$MNT/dir/file"
expect_error "Permission denied" as 1001 cat "$MNT/dir/file"

# --- behind the mount, within the time it is told
setfacl -b "$BACK/dir/file"
chmod 644 "$BACK/dir/file"
wait_until "setpriv --reuid 1003 --regid 1003 --clear-groups cat '$MNT/dir/file' >/dev/null 2>&1"

# --- a write removes file capabilities, as on the bare directory; a user removes them in no other
# way
capable () {
    : >"$MNT/dir/capable" && chown 1003 "$MNT/dir/capable" && chmod 755 "$MNT/dir/capable"
    setfattr -n security.capability -v 0x0100000201000000000000000000000000000000 "$MNT/dir/capable"
}
chmod 777 "$MNT/dir"
for write in "echo >>'$MNT/dir/capable'" "truncate -s 100 '$MNT/dir/capable'" \
    "fallocate -l 4096 '$MNT/dir/capable'" \
    "dd if=/dev/zero of='$MNT/dir/capable' bs=4096 count=1 conv=notrunc oflag=direct status=none"; do
    capable
    as 1003 sh -c "$write" || fail "the owner can't: $write"
    expect_match "the capability after: $write" 'No such attribute' \
        "$(getfattr -n security.capability "$MNT/dir/capable" 2>&1)"
done
capable
# The kernel refuses this, above every file system. Linux 6.1 with its BPF security module refuses
# it nowhere.
if as 1003 setfattr -x security.capability "$BACK/dir/capable" 2>/dev/null; then
    echo "this kernel lets any owner take a file's capabilities, in the bare directory too"
else
    expect_error 'Operation not permitted' as 1003 setfattr -x security.capability \
        "$MNT/dir/capable"
    expect_error 'Operation not permitted' as 1003 setfattr -n security.capability \
        "$MNT/dir/capable"
fi

# --- super-uid, while it is mounted
chmod 600 "$BACK/dir/file"
wait_until "! setpriv --reuid 1003 --regid 1003 --clear-groups cat '$MNT/dir/file' >/dev/null 2>&1"
sed -i 's/^ *type system.posix-acl/&\n option super-uid 1003/' "$VOL"
"$WINDLASS" reload "$MNT" >/dev/null || fail "reload is refused"
expect_match "the new user" 'user 0 and user 1003: everything' \
    "$("$WINDLASS" explain "$MNT/dir/file")"
unmount

# --- what is refused
stack encryption/rot-13
expect_error "acl=translator' needs a volume of type system/posix-acl" "$WINDLASS" -f "$VOL" \
    -l "$LOG" --acl=translator "$MNT"
stack system/posix-acl performance/write-behind
expect_error "test.vol:[0-9]+:[0-9]+: volume '.*' \(performance/write-behind\) is above" \
    "$WINDLASS" -f "$VOL" -l "$LOG" --acl=translator "$MNT"
stack system/posix-acl
expect_error "entry-timeout' must be 0" "$WINDLASS" -f "$VOL" -l "$LOG" --acl=translator \
    --entry-timeout=1 "$MNT"
expect_error "contradict" "$WINDLASS" -f "$VOL" -l "$LOG" -o acl=translator,default_permissions \
    "$MNT"
expect_error "option 'acl' must be" "$WINDLASS" -f "$VOL" -l "$LOG" --acl=perhaps "$MNT"
for bad in 'super-uid -1' 'super-uid root' 'timeout -1' 'timeout 2d' 'timeot 1'; do
    sed "s/^ *type system.posix-acl/&\n option $bad/" "$VOL" >bad.vol
    expect_error "bad.vol:[0-9]+:[0-9]+: error: .*${bad%% *}" "$WINDLASS" check bad.vol
done
sed 's,system/posix-acl,features/access-control,' "$VOL" >alias.vol
expect_ok "$WINDLASS" check alias.vol
