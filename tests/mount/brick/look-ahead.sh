#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that looks up one file of a directory after the other, and reads it, makes the brick
# answer a few lookups only: md-cache lists the directory meanwhile, with the contents of its files.
# A change is seen, and who may not list a directory, or not read a file, gets what the brick says.
. "$(dirname "$0")/lib.sh"

FILES=200
brick one
brick_volfile one
cat >>"$VOL" <<EOF
volume quick-read
    type performance/quick-read
    option cache-timeout 60
    subvolumes one
end-volume
volume md-cache
    type performance/md-cache
    option md-cache-timeout 60
    subvolumes quick-read
end-volume
EOF
chmod 755 "$TEST_DIR" "$MNT"
mount_volfile "$VOL"
mkdir "$MNT/dir"
for i in $(seq $FILES); do
    echo "content of $i" >"$MNT/dir/$i"
done
mkdir -m 711 "$MNT/closed"
for i in $(seq 9); do
    echo "closed $i" >"$MNT/closed/$i"
done
chmod 600 "$MNT/closed/9"
unmount
# quick-read trusts content for a second only if the file had changed less than 0.1 s before.
changed=$(stat -c %.9Z "$TEST_DIR/one.d/closed/9" | tr -d .)
wait_until "[ \$((\$(date +%s%N) - changed)) -gt 200000000 ]"

# count KEY [TRANSLATOR]
count () {
    sed -n "s/^$1 *= *//p" "$MNT/.meta/graphs/active/${2:-md-cache}/private"
}

mount_volfile "$VOL"
for i in $(seq $FILES); do
    stat -c '%s %a' "$MNT/dir/$i"
done >seen
expect "what was seen" "$(for i in $(seq $FILES); do echo "$((12 + ${#i})) 644"; done)" \
    "$(cat seen)"
missed=$(count lookup_miss_count)
[ "$missed" -lt $((FILES / 2)) ] || fail "the brick answered $missed lookups of $FILES files"

# The contents have come along.
before=$(count cache-miss quick-read)
for i in $(seq $FILES); do
    cat "$MNT/dir/$i"
done >seen
expect "the contents" "$(seq $FILES | sed 's/^/content of /')" "$(cat seen)"
expect "files that the brick was asked for" "$before" "$(count cache-miss quick-read)"

# A change is seen.
echo other >"$MNT/dir/150"
rm "$MNT/dir/151"
mv "$MNT/dir/152" "$MNT/dir/151"
expect "a file that was written" other "$(cat "$MNT/dir/150")"
expect "a file that was renamed" "content of 152" "$(cat "$MNT/dir/151")"
expect_error 'No such file' stat "$MNT/dir/152"

# A user that may not list a directory looks up and reads what it may.
for i in $(seq 8); do
    user cat "$MNT/closed/$i"
done >seen
expect "what a user reads" "$(seq 8 | sed 's/^/closed /')" "$(cat seen)"
expect_error 'Permission denied' user ls "$MNT/closed"
expect_error 'Permission denied' user cat "$MNT/closed/9"
unmount
