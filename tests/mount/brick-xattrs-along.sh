#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick sends ACLs and security labels along with names: a program that lists a directory and asks
# for those of each file makes no further call to the brick.
. "$(dirname "$0")/brick-lib.sh"
need_command setfacl getfacl getfattr

brick one
brick_volfile one
cat >>"$VOL" <<EOF
volume md-cache
    type performance/md-cache
    option md-cache-timeout 600
    subvolumes one
end-volume
EOF
mount_volfile "$VOL"
mkdir "$MNT/dir"
for name in plain listed; do
    echo "$name" >"$MNT/dir/$name"
done
setfacl -m u:1002:r "$MNT/dir/listed" 2>/dev/null || skip "the file system has no ACLs"
unmount

mount_volfile "$VOL" --selinux --entry-timeout=600 --attribute-timeout=600

# count KEY
count () {
    sed -n "s/^$1 *= *//p" "$MNT/.meta/graphs/active/md-cache/private"
}

find "$MNT/dir" -printf '%s ' >/dev/null # asks for names and attributes alone
missed=$(count xattr_miss_count)
expect "the ACL" "user:1002:r--" "$(getfacl -cp "$MNT/dir/listed" | grep 1002)"
expect "a file without one" "user::rw- group::r-- other::r--" \
    "$(getfacl -cp "$MNT/dir/plain" | paste -sd' ' | sed 's/ *$//')"
expect_error 'No such attribute' getfattr -n security.selinux "$MNT/dir/plain"
expect "attributes that the brick was asked for" "$missed" "$(count xattr_miss_count)"

# Changes are seen.
setfacl -m u:1003:r "$MNT/dir/plain"
setfacl -b "$MNT/dir/listed"
expect "the new ACL" "user:1003:r--" "$(getfacl -cp "$MNT/dir/plain" | grep 1003)"
expect "the ACL that is gone" "" "$(getfacl -cp "$MNT/dir/listed" | grep 1002)"
unmount
