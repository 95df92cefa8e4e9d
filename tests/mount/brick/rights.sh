#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A change of owner, mode or ACL counts at once for the brick's own check of rights, though the file
# is open meanwhile. A file without a name, which only its descriptor reaches, is changed as well.
. "$(dirname "$0")/lib.sh"
need_command setfacl setpriv flock

brick one
brick_volfile one
mount_volfile "$VOL" --entry-timeout=600 --attribute-timeout=600 # no lookup comes between
cd "$MNT" || exit 1

touch owned listed
exec 5<>owned 6<>listed
chown 65534:65534 owned
expect_ok user dd if=/dev/null of=owned conv=notrunc oflag=append

python3 - <<'END' || fail "a file without a name"
import os
fd = os.open("removed", os.O_RDWR | os.O_CREAT, 0o644)
os.unlink("removed")
os.fchmod(fd, 0o640)
os.fchown(fd, 1, 2)
os.utime(fd, (1, 2))
os.setxattr(fd, "user.a", b"value")
assert os.getxattr(fd, "user.a") == b"value"
os.removexattr(fd, "user.a")
assert os.listxattr(fd) == [], os.listxattr(fd)
now = os.fstat(fd)
assert (now.st_mode, now.st_uid, now.st_gid, now.st_mtime) == (0o100640, 1, 2, 2), now
END

setfacl -m u:65534:rw listed 2>/dev/null || skip "the file system has no ACLs"
expect_ok user dd if=/dev/null of=listed conv=notrunc oflag=append
setfacl -b listed
expect_error 'Permission denied' user dd if=/dev/null of=listed conv=notrunc oflag=append

# A caller may be in more groups than fit in a call: the server takes some of them.
mkdir -m 777 open
for n in 86 87 88 89 95 100 300; do
    expect_ok setpriv --reuid 1500 --regid 1500 --groups "$(seq -s, 6001 $((6000 + n)))" \
        touch open/$n
    expect_ok setpriv --reuid 1500 --regid 1500 --groups "$(seq -s, 6001 $((6000 + n)))" \
        flock open/$n true # with the owner of a lock, which takes more room
done
mkdir -m 070 group
chown 0:6001 group
expect_ok setpriv --reuid 1500 --regid 1500 --groups "$(seq -s, 6001 6100)" touch group/file

# A default ACL replaces the umask of a caller, also in a new directory.
umask 022
mkdir -m 770 shared plain
chown 0:2000 shared
setfacl -m g:2000:rwx -d -m g:2000:rwx,u::rwx,g::rwx,o::--- shared
touch plain/before shared/file
mkdir shared/sub
touch shared/sub/file
expect "modes by the umask, and by the ACL" "644 660 770 660" \
    "$(stat -c %a plain/before shared/file shared/sub shared/sub/file | paste -sd' ')"
as_2000=(setpriv --reuid 1002 --regid 2000 --clear-groups)
expect_ok "${as_2000[@]}" dd if=/dev/null of=shared/file conv=notrunc oflag=append
expect_ok "${as_2000[@]}" touch shared/sub/new
setfacl -d -m g::rwx,o::rx plain
touch plain/after
setfacl -k plain
touch plain/without
expect "after it was set, and after it was removed" "664 644" \
    "$(stat -c %a plain/after plain/without | paste -sd' ')"
