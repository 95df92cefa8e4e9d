#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# performance/readdir-ahead reads on in a directory of a brick also below md-cache, which asks for
# extended attributes along with the entries: they come along, and changes are seen.
. "$(dirname "$0")/lib.sh"
need_command setfattr

# A listing may take longer than the usual second on a busy machine, and entries read ahead would
# expire meanwhile: hence rda-cache-timeout.
FILES=3000
CAPABILITY=0sAQAAAgAgAAAAAAAAAAAAAAAAAAA= # cap_net_raw=ep
brick one
brick_volfile one
cat >>"$VOL" <<EOF
volume readdir-ahead
    type performance/readdir-ahead
    option rda-cache-timeout 600
    subvolumes one
end-volume
volume md-cache
    type performance/md-cache
    option md-cache-timeout 600
    subvolumes readdir-ahead
end-volume
EOF
mount_volfile "$VOL"
mkdir "$MNT/dir"
(cd "$MNT/dir" && seq -f 'file-%04g' $FILES | xargs touch)
setfattr -n security.capability -v $CAPABILITY "$MNT/dir/file-0007"
unmount

count () { # KEY TRANSLATOR
    sed -n "s/^$1 *= *//p" "$MNT/.meta/graphs/active/$2/private"
}

mount_volfile "$VOL"
expect "the names with attributes" $FILES "$(ls -lU "$MNT/dir" | grep -c '^-rw-.* file-')"
[ "$(count hits readdir-ahead)" -gt 0 ] || fail "no answer was read ahead"
missed=$(count lookup_miss_count md-cache)
expect "capabilities" $CAPABILITY \
    "$(getfattr -e base64 -n security.capability "$MNT/dir/file-0007" | sed -n 's/.*=0s/0s/p')"
expect_error 'No such attribute' getfattr -n security.capability "$MNT/dir/file-0008"
expect "lookups after the listing" "$missed" "$(count lookup_miss_count md-cache)"

# A listing that is under way shows what changes meanwhile.
python3 - "$MNT/dir" <<'PYTHON' || fail "changes during a listing"
import os, sys
os.chdir(sys.argv[1])
seen = 0
with os.scandir(".") as entries:
    for entry in entries:
        if seen == 100:
            for i in range(1, 3001, 7):
                os.truncate(f"file-{i:04}", 4711)
            os.unlink("file-3000")
            os.setxattr("file-2999", "user.a", b"b")
        seen += 1
        if os.path.lexists(entry.name):
            assert entry.stat().st_size == os.stat(entry.name).st_size, entry.name
assert 2999 <= seen <= 3000, seen
assert os.getxattr("file-2999", "user.a") == b"b"
PYTHON
expect "the file that was removed" 0 "$(ls "$MNT/dir" | grep -c file-3000)"
unmount

# GlusterFS's parallel-readdir: one above each brick of a distributed volume.
brick two
for name in one two; do
    brick_volfile $name
    cat "$VOL"
    cat <<EOF
volume $name-ahead
    type performance/readdir-ahead
    option rda-cache-timeout 600
    subvolumes $name
end-volume
EOF
done >both
cp both "$VOL"
cat >>"$VOL" <<EOF
volume distribute
    type cluster/distribute
    subvolumes one-ahead two-ahead
end-volume
volume md-cache
    type performance/md-cache
    subvolumes distribute
end-volume
EOF
mount_volfile "$VOL"
mkdir "$MNT/other"
(cd "$MNT/other" && seq -f 'file-%04g' $FILES | xargs touch)
unmount
mount_volfile "$VOL"
list_both () {
    expect "the names on both" $FILES "$(ls -lU "$MNT/other" | grep -c '^-rw-.* file-')"
}

# The first listing shows what its caller asks for along with the entries. The call that the opendir
# made did not know that: a piece or two of this listing are not read ahead.
declare -A misses hits
list_both
for name in one two; do
    misses[$name]=$(count misses $name-ahead) hits[$name]=$(count hits $name-ahead)
done
list_both
for name in one two; do # how many pieces there are depends on how fast the answers come
    expect "calls that came to $name itself" $((misses[$name] + 1)) "$(count misses $name-ahead)"
    [ "$(count hits $name-ahead)" -gt "${hits[$name]}" ] || fail "no answer of $name was read ahead"
done
unmount
