#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The kernel alone opens pipes, sockets and devices. Where it checks no rights, with acl=translator
# and no_default_permissions, only a caller that may read and write one finds it, and its owner,
# whichever caller asked before.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv setfacl python3 timeout

as () { # UID COMMAND...
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --clear-groups timeout 10 "$@"
}

connect () { # UID PATH
    as "$1" python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$2"
}

chmod 755 "$TEST_DIR"
mkfifo -m 600 "$BACK/pipe"
mkfifo -m 640 "$BACK/half"
mkfifo -m 666 "$BACK/all"
mknod -m 600 "$BACK/null" c 1 3
mknod -m 666 "$BACK/open" c 1 3
python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); time.sleep(600)' \
    "$BACK/socket" &
server=$!
wait_until "[ -S '$BACK/socket' ]"
chmod 700 "$BACK/socket"

try_all () { # HOW WHO: who decides about rights: the kernel, or another
    stat "$MNT"/* >/dev/null || fail "$1: root can't see them all"
    ls -l "$MNT" >/dev/null
    for file in pipe null; do
        as 1001 sh -c "exec 3<>'$MNT/$file'" 2>/dev/null && fail "$1: a user opened root's $file"
        sh -c "exec 3<>'$MNT/$file'" || fail "$1: root can't open $file"
    done
    as 1001 sh -c "exec 3<>'$MNT/half'" 2>/dev/null && fail "$1: a user opened what he may not read"
    connect 1001 "$MNT/socket" 2>/dev/null && fail "$1: a user connected to root's socket"
    as 1001 sh -c "exec 3<>'$MNT/all'" || fail "$1: a user can't open a pipe for all"
    as 1001 sh -c "echo >'$MNT/open'" || fail "$1: a user can't open a device for all"
    chown 1001 "$MNT/pipe"
    as 1001 sh -c "exec 3<>'$MNT/pipe'" || fail "$1: an owner can't open his pipe"
    chown 0 "$MNT/pipe"
    as 1001 sh -c "exec 3<>'$MNT/pipe'" 2>/dev/null && fail "$1: the owner before can open it"
    owners "$1" "$2"
    case $2 in
        kernel) expect "$1: a closed directory's .." EACCES "$(leaves)" ;;
        *) expect "$1: a closed directory's .." "gets out" "$(leaves)" ;;
    esac
}

# An owner needs no right to his own: he could change its mode.
owners () { # HOW WHO
    mkdir "$MNT/own"
    chown 1001 "$MNT/own"
    as 1001 mkfifo -m 0200 "$MNT/own/pipe" || fail "$1: no pipe that is only written"
    expect "$1: its mode" 200 "$(as 1001 stat -c %a "$MNT/own/pipe")"
    as 1001 python3 -c 'import socket, sys, os
socket.socket (socket.AF_UNIX).bind (sys.argv[1]); os.chmod (sys.argv[1], 0)' "$MNT/own/socket" ||
        fail "$1: no socket of mode 0"
    as 1001 chmod 400 "$MNT/own/socket" || fail "$1: an owner can't chmod his socket"
    if [ "$2" = kernel ]; then
        as 1002 stat "$MNT/own/pipe" >/dev/null || fail "$1: another user can't stat it"
    else
        as 1002 stat "$MNT/own/pipe" >/dev/null 2>&1 && fail "$1: another user finds it"
    fi
    as 1001 rm -r "$MNT/own/pipe" "$MNT/own/socket" || fail "$1: an owner can't remove his own"
    rmdir "$MNT/own"
}

# What becomes of a user who has a directory open that is then closed to him, and opens "..".
leaves () {
    mkdir -m 711 "$MNT/closed"
    python3 - "$MNT/closed" <<'END'
import errno, os, sys
os.seteuid (1001)
fd = os.open (sys.argv[1], os.O_PATH)
os.seteuid (0)
os.chmod (sys.argv[1], 0o700)
os.seteuid (1001)
try:
    os.open ("..", os.O_PATH, dir_fd = fd)
    print ("gets out")
except OSError as error:
    print (errno.errorcode[error.errno])
END
    rmdir "$MNT/closed"
}

stack
mount_volfile "$VOL" -o no_default_permissions,dev
try_all no_default_permissions storage
unmount
stack system/posix-acl
mount_volfile "$VOL" --acl=translator -o dev
try_all acl=translator translator
setfacl -m u:1001:rw "$MNT/half"
as 1001 sh -c "exec 3<>'$MNT/half'" || fail "an entry of an ACL doesn't count"
setfacl -b "$MNT/half"
unmount
stack
mount_volfile "$VOL" -o dev
try_all "what the kernel checks" kernel
kill "$server"

# The kernel itself refuses these: attributes of a pipe, and modes of fallocate that FUSE does not
# have.
expect "attributes of a pipe" ENOTTY "$(python3 - "$MNT/pipe" <<'EOF'
import errno, fcntl, os, sys
try:
    # FS_IOC_GETFLAGS
    print (fcntl.ioctl (os.open (sys.argv[1], os.O_RDONLY | os.O_NONBLOCK), 0x80086601, bytes (8)))
except OSError as error:
    print (errno.errorcode[error.errno])
EOF
)"
head -c 64K /dev/zero >"$MNT/long"
for mode in --collapse-range --insert-range; do
    expect_error 'not supported' fallocate $mode --offset 4096 --length 4096 "$MNT/long"
done
