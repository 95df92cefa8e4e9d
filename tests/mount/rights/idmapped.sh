#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# With --idmapped-mounts a mount can be mounted elsewhere with other ids: files there belong to the
# mapped ids, new files to the ids that those stand for, and a caller has exactly the rights of the
# id that it stands for. Without the option this mount is refused.
# builds: debug
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv

as () {
    setpriv --reuid "$1" --regid "$1" --clear-groups bash -c "$2" 2>&1 |
        sed "s/^bash: line [0-9]*: //"
}

stack
mkdir mapped
mount_volfile "$VOL"
said=$("$PROGRAMS/idmap" "$MNT" mapped 0 100000 65536)
status=$?
[[ $said != *"user namespaces"* ]] || skip "$said"
expect "the status without the option" 77 $status
expect_match "what is said without the option" 'idmapped mounts' "$said"
unmount

mount_volfile "$VOL" --idmapped-mounts
said=$("$PROGRAMS/idmap" "$MNT" mapped 0 100000 65536) || skip "$said"
chmod 777 "$BACK"
echo secret >"$BACK/root"
echo theirs >"$BACK/theirs"
chmod 600 "$BACK/root" "$BACK/theirs"
chown 1001:1001 "$BACK/theirs"
mkdir -m 2775 "$BACK/setgid"
chown 0:1001 "$BACK/setgid"

# Seen and made by the mapped user.
expect "owners" "root 100000 theirs 101001" "$(cd mapped && stat -c '%n %u' root theirs | xargs)"
expect "what a mapped user reads" theirs "$(as 101001 'cat mapped/theirs')"
expect "what a mapped user makes" "" \
    "$(as 101001 'echo x >mapped/new; mkdir mapped/dir; ln -s x mapped/link
        echo y >mapped/setgid/new; chmod 700 mapped/new')"
expect "its owner" "new 1001:1001 dir 1001:1001 link 1001:1001 setgid/new 1001:1001" \
    "$(cd "$BACK" && stat -c '%n %u:%g' new dir link setgid/new | xargs)"
expect "what root there makes" 0:0 \
    "$(as 100000 'echo x >mapped/by-root' && stat -c %u:%g "$BACK/by-root")"

# Who isn't mapped, or not as himself, gains nothing.
for who in 1001 1002 101002; do
    expect "a look by $who" "cat: mapped/theirs: Permission denied" "$(as $who 'cat mapped/theirs')"
    expect_match "a change by $who" 'Permission denied|not permitted' \
        "$(as $who 'echo x >>mapped/theirs')"
    expect_match "a removal in a folder of others by $who" \
        'Permission denied|not permitted|too large' "$(as $who 'rm -f mapped/setgid/new')"
    expect_match "a chmod by $who" 'not permitted|too large' "$(as $who 'chmod 777 mapped/theirs')"
done
for who in 0 1001; do
    expect_match "a new file of $who, whom nobody stands for" 'too large' \
        "$(as $who 'echo x >mapped/nobodys')"
    expect_match "a new folder" 'too large' "$(as $who 'mkdir mapped/nobodys')"
done
expect "what nobody owns" "" "$(find "$BACK" -name 'nobodys*')"

# By a supplementary group, which the kernel sends since Linux 6.3.
mkdir -m 775 "$BACK/of-group"
chown 0:3000 "$BACK/of-group"
if printf '6.3\n%s\n' "$(uname -r)" | sort -VC; then
    expect_ok setpriv --reuid 101001 --regid 101001 --groups 103000 touch mapped/of-group/new
    expect "whose it is" "1001 1001" "$(stat -c '%u %g' "$BACK/of-group/new")"
fi
expect_error 'Permission denied' setpriv --reuid 101001 --regid 101001 --groups 103001 \
    touch mapped/of-group/other

# Elsewhere it is as it was.
expect "what another user reads" "cat: mnt/root: Permission denied" "$(as 1001 'cat mnt/root')"
expect "whose it is" 1001 "$(as 1001 'echo x >mnt/plain' && stat -c %u "$BACK/plain")"
setfattr -n trusted.x -v 1 "$BACK/plain" 2>/dev/null
expect "attributes of root alone" "" "$(as 1001 'getfattr -m- mnt/plain' | grep trusted)"
cp "$(command -v ls)" "$BACK/setgid-program"
chown 1001:2001 "$BACK/setgid-program"
chmod 2700 "$BACK/setgid-program"
if command -v setfacl >/dev/null; then
    as 1001 'setfacl -m u:1002:rx mnt/setgid-program'
    expect "setgid of another's group, after an ACL" -rwxr-x--- \
        "$(stat -c %A "$BACK/setgid-program")"
fi
umount mapped
unmount
expect_error "needs default_permissions" "$WINDLASS" -f "$VOL" -l "$LOG" --idmapped-mounts \
    -o no_default_permissions "$MNT"
