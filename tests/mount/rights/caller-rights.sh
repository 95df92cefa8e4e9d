#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# On a mount by root a caller gains nothing through handles (O_PATH), files that another process
# opened for it, names that lead out, or a root without root's capabilities. The caller's groups
# count where /proc hides them.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv setfattr

# tries DIR: what a user can do with handles that root gave him.
tries () {
    rm -rf "${1:?}"/*
    mkdir "$1/open" "$1/closed"
    chmod 777 "$1/open"
    chmod 700 "$1/closed"
    for file in secret public closed/secret closed/public open/secret open/public; do
        echo text >"$1/$file"
        setfattr -n user.x -v 1 "$1/$file"
    done
    chmod 600 "$1"/{,closed/,open/}secret
    chmod 666 "$1"/{,closed/,open/}public
    mkfifo -m 666 "$1/closed/fifo"
    ln -s secret "$1/closed/link"
    ln -s /nowhere/at/all "$1/open/link"
    "$PROGRAMS/opath" "$1" 1001
    (cd "$1" && find . -printf '%P %M %U:%G %n %s\n' | sort)
}

mkdir bare
tries bare >expected
expect_match "a file that is closed" '^secret, open to read: EACCES' "$(cat expected)"
for options in handles=auto handles=descriptor; do
    POSIX_OPTIONS=$options stack
    mount_volfile "$VOL"
    tries "$MNT" >got
    diff expected got ||
        fail "handles and names give other rights than on the bare directory with $options"
    unmount
done

# Ioctls under numbers that the kernel does not recognise, from a root that may not make files
# immutable.
stack
: >"$BACK/file"
powerless=(setpriv --bounding-set -linux_immutable --inh-caps -linux_immutable)
bare=$("${powerless[@]}" "$PROGRAMS/setflags" "$BACK/file")
[ "${bare%%$'\n'*}" = EPERM ] || skip "needs a file system with immutable files"
mount_volfile "$VOL"
got=$("${powerless[@]}" "$PROGRAMS/setflags" "$MNT/file")
chattr -i "$BACK/file"
expect "who may not make a file immutable" "$bare" "$got"
unmount
mount_volfile "$VOL" -o ro
expect "a file of a mount that is read-only" $'EROFS\nENOTTY' "$("$PROGRAMS/setflags" "$MNT/file")"
unmount

# What a member of a group may read when the daemon sees such a /proc.
hidden () {
    # shellcheck disable=SC2016 # the inner shell expands them
    MNT=$MNT unshare -m sh -c 'mount -t proc -o hidepid=ptraceable proc /proc && "$@" "$MNT" || exit
        setpriv --reuid 1001 --regid 2001 --groups 3000 cat "$MNT/of-group"
        umount "$MNT"' sh "$WINDLASS" -f "$VOL" -l "$LOG" -p "$TEST_DIR/pid" 2>&1
    wait_until "! [ -e '$TEST_DIR/pid' ]"
}
echo ours >"$BACK/of-group"
chown 0:3000 "$BACK/of-group"
chmod 640 "$BACK/of-group"
if unshare -m mount -t proc -o hidepid=ptraceable proc /proc 2>/dev/null; then
    expect "a file of a group, with a /proc that hides processes" ours "$(hidden)"
fi
