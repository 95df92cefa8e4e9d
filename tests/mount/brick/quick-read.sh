#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Content that a brick sends with a lookup is read without a further call, by callers that the mode
# lets read the file. A file with a closed mode or an ACL is read through the brick.
. "$(dirname "$0")/lib.sh"
need_command setfacl

brick one
brick_volfile one
mount_volfile "$VOL"
behind=$TEST_DIR/one.d
for name in open closed listed; do
    echo "$name" >"$MNT/$name"
done
unmount
chmod 600 "$behind/closed"
setfacl -m u:1002:- "$behind/listed" 2>/dev/null || skip "the file system has no ACLs"

# Of a file that changed within the last tick too little is known.
changed=$(date -d "$(stat -c %z "$behind/listed")" +%s%3N)
wait_until '[ $(($(date +%s%3N) - changed)) -gt 300 ]'
cat >>"$VOL" <<EOF
volume open-behind
    type performance/open-behind
    subvolumes one
end-volume
volume quick-read
    type performance/quick-read
    option cache-timeout 600
    subvolumes open-behind
end-volume
EOF
mount_volfile "$VOL" --entry-timeout=600 --attribute-timeout=600
cd "$MNT" || exit 1

# count KEY [VOLUME]
count () {
    sed -n "s/^$1 *= *//p" ".meta/graphs/active/${2-quick-read}/private"
}

expect "the modes, as they show" "600 644 644" "$(stat -c %a closed listed open | paste -sd' ')"
expect "files that came with lookups" 3 "$(count total_files_cached)"
expect "an open file" open "$(cat open)"
expect "reads from memory, opens that were sent" "1 0" \
    "$(count cache-hit) $(count sent open-behind)"
expect "a file with an ACL, and one with a closed mode" "listed closed" \
    "$(cat listed closed | paste -sd' ')"
expect "reads from memory, opens that were sent" "1 2" \
    "$(count cache-hit) $(count sent open-behind)"
as_1002=(setpriv --reuid 1002 --regid 1002 --clear-groups)
expect_error 'Permission denied' "${as_1002[@]}" cat listed
expect_error 'Permission denied' "${as_1002[@]}" cat closed

# What lets others read no more ends what is kept.
chmod 600 open
hits=$(count cache-hit)
expect "after chmod" open "$(cat open)"
expect "reads from memory after chmod" "$hits" "$(count cache-hit)"
cd "$TEST_DIR" && unmount
