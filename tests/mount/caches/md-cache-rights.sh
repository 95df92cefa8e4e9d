#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# md-cache and nl-cache show a caller nothing that storage would refuse: names in a directory that
# the caller may not search, by mode or by an ACL, whether the kernel checks rights or not, and
# attributes of a file that the caller may not read.
. "$(dirname "$0")/../lib.sh"
need_root
need_fuse
need_command setfattr getfattr setfacl
POSIX_OPTIONS='' stack \
    performance/md-cache,md-cache-timeout=600,cache-invalidation=on,xattr-cache-list=user.\* \
    performance/nl-cache,nl-cache-positive-entry=on
mkdir "$BACK/mode" "$BACK/acl"
for d in mode acl; do
    echo secret >"$BACK/$d/file"
    setfattr -n user.x -v secret "$BACK/$d/file" || skip "needs user.* attributes in $TEST_DIR"
done
chmod 700 "$BACK/mode"
setfacl -m u:65534:--- "$BACK/acl" || skip "needs ACLs in $TEST_DIR"
chmod 644 "$BACK/acl/file"
echo open >"$BACK/closed"
setfattr -n user.x -v secret "$BACK/closed"
chmod 600 "$BACK/closed"
chmod 755 "$TEST_DIR" "$BACK"

for options in '' '-o no_default_permissions' '--acl=off'; do
    # shellcheck disable=SC2086
    mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0 -o allow_other $options
    # Root knows all of it, and so do the caches.
    for d in mode acl; do
        expect_ok stat "$MNT/$d/file"
        expect_error 'No such file' stat "$MNT/$d/missing"
        expect_ok stat "$MNT/$d/file"
        expect_error 'No such file' stat "$MNT/$d/missing"
    done
    expect "root reads" secret "$(getfattr --only-values -n user.x "$MNT/closed")"
    for d in mode acl; do
        for name in file missing; do
            expect_error 'Permission denied' user stat "$MNT/$d/$name"
        done
    done
    expect_error 'Permission denied' user getfattr -n user.x "$MNT/closed"
    unmount
done
