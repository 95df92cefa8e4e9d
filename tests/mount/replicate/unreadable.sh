#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a lookup or a listing brings along comes from a copy that may be read, also through caches:
# without a good copy the content and the ACL are EIO, not what one copy has, nor absent. If one
# copy has the data and another the attributes, each comes from its own.
. "$(dirname "$0")/lib.sh"
need_command setfacl getfacl

# accuse BRICK NAME ACCUSED DATA METADATA: as a change would, also in the brick's index.
accuse () {
    local index=$1.d/.glusterfs/indices/xattrop gfid
    setfattr -n "trusted.afr.$3" -v "0x$(printf '%08x%08x%08x' "$4" "$5" 0)" "$1.d/$2"
    gfid=$(getfattr --only-values -n trusted.gfid "$1.d/$2" | od -An -tx1 | tr -d ' \n' |
        sed 's/^\(........\)\(....\)\(....\)\(....\)/\1-\2-\3-\4-/')
    touch "$index/xattrop-00000000-0000-4000-8000-000000000000"
    ln -f "$index"/xattrop-* "$index/$gfid"
}

stack_mount () {
    replicate_volfile
    cat >>"$VOL" <<EOF_STACK
volume open-behind
    type performance/open-behind
    subvolumes r
end-volume
volume quick-read
    type performance/quick-read
    option cache-timeout 600
    subvolumes open-behind
end-volume
volume md-cache
    type performance/md-cache
    option md-cache-timeout 60
    subvolumes quick-read
end-volume
EOF_STACK
    mount_volfile "$VOL" --acl=on --attribute-timeout=0 --entry-timeout=0
}

bricks_begin
replicate_volfile
mount_volfile "$VOL"
mkdir "$MNT/dir"
for name in good data attributes apart stale pair; do
    echo same >"$MNT/dir/$name"
done
unmount
wait_until no_marks
setfacl -m u:1002:r c0.d/dir/good 2>/dev/null || skip "the file system has no ACLs"
for brick in c0 c1 c2; do
    setfacl -m u:1002:- $brick.d/dir/good $brick.d/dir/data
    setfacl -m u:1002:- $brick.d/dir/apart $brick.d/dir/attributes
    for accused in c0 c1 c2; do
        [ $brick = $accused ] && continue
        accuse $brick dir/data $accused 1 0
        accuse $brick dir/attributes $accused 0 1
    done
done
# Where the ACL is lost, a cache must not say that there is none.
setfacl -b c0.d/dir/attributes c1.d/dir/attributes c2.d/dir/attributes
setfacl -m u:1002:- c2.d/dir/attributes
# c0 has the data, and missed the chmod; c2 missed the data. c1, which has all, is not there.
accuse c0 dir/apart c2 1 0
accuse c1 dir/apart c2 1 0
accuse c1 dir/apart c0 0 1
accuse c2 dir/apart c0 0 1
for brick in c0 c1; do
    echo longer >$brick.d/dir/apart
done
setfacl -b c0.d/dir/apart
chmod 644 c0.d/dir/apart
chmod 600 c1.d/dir/apart c2.d/dir/apart
setfacl -m u:1002:- -m m::- c1.d/dir/apart c2.d/dir/apart

# c0 and c1 have the data, c2 alone the attributes.
for brick in c0 c1; do
    accuse $brick dir/pair c2 1 0
    accuse c2 dir/pair $brick 0 1
    echo longer >$brick.d/dir/pair
done
chmod 600 c2.d/dir/pair

# The copy that is preferred for the directory has missed changes of a file.
for accuser in c0 c2; do
    accuse $accuser dir/stale c1 1 1
    echo 'as it should be' >$accuser.d/dir/stale
    chmod 640 $accuser.d/dir/stale
done

acl () {
    getfattr --absolute-names -n system.posix_acl_access "$1"
}

expect_unreadable () {
    expect "a good file $1" same "$(cat "$MNT/dir/good")"
    expect_error 'Input/output error' cat "$MNT/dir/data"
    expect "attributes without a good copy $1" same "$(cat "$MNT/dir/attributes")"
    expect_error 'Input/output error' acl "$MNT/dir/attributes"
}

# A brick counts the links in its index when it starts.
for brick in c0 c1 c2; do
    brick_stop $brick
    brick_start $brick
done

stack_mount
stat "$MNT/dir/"* >stat.out
expect_unreadable "looked up"
cd "$MNT" || exit 1
stat dir/* >/dev/null
find dir -printf '%p %s\n' >/dev/null
cd "$TEST_DIR" || exit 1
expect_unreadable "listed"
unmount

replicate_volfile read-subvolume=c1
mount_volfile "$VOL" --attribute-timeout=60 --entry-timeout=60
expect "the stale file" "16 640" "$(stat -c '%s %a' "$MNT/dir/stale")"
ln "$MNT/dir/stale" "$MNT/dir/linked"
expect "another name of it" "16 640" "$(stat -c '%s %a' "$MNT/dir/linked")"
mv "$MNT/dir/linked" "$MNT/dir/renamed"
expect "the name, changed" "16 640" "$(stat -c '%s %a' "$MNT/dir/renamed")"
rm "$MNT/dir/renamed"
unmount

# A stat of two copies of which one fails asks another.
replicate_volfile read-subvolume=fault afr-pending-xattr=c0,c1,c2
sed -i "s/subvolumes c0 c1 c2/subvolumes fault c1 c2/; /^volume r$/i \\
volume fault\\
    type debug/fault\\
    option rules $TEST_DIR/rules\\
    subvolumes c0\\
end-volume" "$VOL"
printf 'stat,fstat -> error ENOTCONN\n' >rules
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
wait_until "! '$WINDLASS' explain '$MNT/dir/pair' | grep -q 'not there'"
exec 3<"$MNT/dir/pair"
expect "the size and mode of two copies, one of which fails" "7 600" \
    "$(stat -c '%s %a' "$MNT/dir/pair")"
expect "the same, open" "7 600" "$(stat -c '%s %a' - <&3)"
expect_match "what the fault met" 'matched [1-9]' "$("$WINDLASS" fault "$MNT" --show)"
exec 3<&-
unmount

brick_stop c1
stack_mount
wait_until "'$WINDLASS' explain '$MNT/dir/apart' | grep -q 'not there: c1'"
expect "the size and mode of two copies" "7 600" "$(stat -c '%s %a' "$MNT/dir/apart")"
expect "the content" longer "$(cat "$MNT/dir/apart")"
expect "the size and mode, open" "7 600" "$(stat -c '%s %a' - <"$MNT/dir/apart")"
expect "the size and mode, listed" "7 600 apart" \
    "$(find "$MNT/dir" -name apart -printf '%s %m %f\n')"
expect_match "the ACL" 'user:1002:---' "$(getfacl -n --absolute-names "$MNT/dir/apart")"
expect_error 'Permission denied' setpriv --reuid 1002 --regid 1002 --clear-groups \
    cat "$MNT/dir/apart"
echo more >>"$MNT/dir/apart"
expect "the size and mode after a write" "12 600" "$(stat -c '%s %a' "$MNT/dir/apart")"
unmount
