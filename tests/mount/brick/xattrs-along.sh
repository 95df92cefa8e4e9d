#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick sends ACLs, security labels and capabilities along with names: a program that lists a
# directory and asks for those of each file makes no further call to the brick. Nor does the kernel,
# which asks for the capabilities of a new file before it is written, and before its owner changes.
. "$(dirname "$0")/lib.sh"
need_command setfacl getfacl getfattr setfattr

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

# New files have no capabilities. The first tells whether the brick's file system supports them.
echo first >"$MNT/dir/first"
missed=$(count xattr_miss_count)
for i in 1 2 3; do
    echo new >"$MNT/dir/new$i"
    chown 1000:1000 "$MNT/dir/new$i"
    chmod 700 "$MNT/dir/new$i"
    chown 1001 "$MNT/dir/new$i"
done
expect "attributes of new files that the brick was asked for" "$missed" "$(count xattr_miss_count)"
setfattr -n security.capability -v 0sAQAAAgAgAAAAAAAAAAAAAAAAAAA= "$MNT/dir/new1"
expect "the capabilities" "security.capability=0sAQAAAgAgAAAAAAAAAAAAAAAAAAA=" \
    "$(getfattr --absolute-names -n security.capability "$MNT/dir/new1" 2>&1 | sed -n 2p)"
chown 1002 "$MNT/dir/new1"
expect_error 'No such attribute' getfattr -n security.capability "$MNT/dir/new1"
unmount
