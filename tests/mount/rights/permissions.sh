#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# On a mount by root every user has the rights of the bare directory, and no more; new files belong
# to their makers.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv

# as UID:GID[,GROUP...] COMMAND
as () {
    local uid=${1%%:*} gid=${1#*:} groups=--clear-groups
    case $gid in *,*) groups=--groups=${gid#*,} gid=${gid%%,*} ;; esac
    shift
    setpriv --reuid "$uid" --regid "$gid" "$groups" bash -c "umask ${UMASK-022}; $1" 2>&1 |
        sed "s/^bash: line [0-9]*: //"
    echo "$1: ${PIPESTATUS[0]}"
}

# The same attempts by several users in DIR.
attempts () {
    cd "$1" || exit 1
    mkdir open private team sticky setgid
    chmod 777 open && chmod 700 private && chmod 1777 sticky
    chown 0:3000 team setgid && chmod 770 team && chmod 2777 setgid
    echo secret >private/secret && chmod 644 private/secret
    echo mine >sticky/mine && echo old >team/old && chmod 640 team/old && chown 0:3000 team/old
    as 1001:2001 'echo a >open/a; mkdir open/d; ln -s x open/l; mkfifo open/p'
    UMASK=077 as 1001:2001 'echo b >open/b; mkdir open/e'
    as 1001:2001 'cat private/secret'
    as 1001:2001 'ls private'
    as 1001:2001 'echo x >team/x'
    as 1001:2001,3000 'cat team/old; echo x >team/x; echo y >>team/old'
    as 1001:3000 'ls team; chmod 660 team/x; chgrp 3000 team/x'
    as 1002:2002 'rm sticky/mine'
    as 1002:2002 'echo z >sticky/z; mv sticky/z sticky/y; mv sticky/mine sticky/taken'
    as 1002:2002 'echo more >>open/a'
    as 1002:2002 'rm open/a; touch open/new; rm open/new'
    as 1002:2002 'chmod 777 open/b; chown 1002 open/b
        touch -d 2001-01-01 open/b; setfattr -n user.x -v 1 open/b'
    as 1002:2002 'mknod open/device c 1 3'
    as 1001:2001 'echo g >setgid/g; mkdir setgid/d; chmod 2755 setgid/g'
    as 1001:2001 'chown 1001:3000 open/b'
    as 1001:2001,3000 'chown 1001:3000 open/b; ln open/b open/b2; ln team/old open/old'
    find . -printf '%P %M %U:%G %n\n' | sort
    cd "$TEST_DIR" || exit 1
}

mkdir bare
attempts bare >expected
for options in handles=auto handles=descriptor "handles=auto --kernel-writeback-cache=on" \
    "handles=auto --idmapped-mounts"; do
    POSIX_OPTIONS=${options%% *} stack
    # shellcheck disable=SC2086
    mount_volfile "$VOL" ${options#"${options%% *}"}
    attempts "$MNT" >got
    diff expected got || fail "users may do something else than on the bare directory with $options"
    rm -rf "${MNT:?}"/*
    unmount
done
grep -q 'Permission denied' expected || fail "nothing was refused"
