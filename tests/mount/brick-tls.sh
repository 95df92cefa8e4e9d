#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick that demands TLS is a file system as any other brick is, also after it died and came back.
# It knows its clients by the names in their certificates.
. "$(dirname "$0")/tls-lib.sh"

ca one
certificate server one
certificate client one
certificate stranger one
tls_brick b server one 'option auth.login.b.ssl-allow client'
tls_volfile b client one
mount_volfile "$VOL"
head -c 10000000 /dev/urandom >data

expect_ok cp data "$MNT/data"
expect_ok cmp data "$TEST_DIR/b.d/data"
expect_ok cmp data "$MNT/data"
expect_ok dd "if=$MNT/data" of=direct bs=1M iflag=direct status=none
expect_ok cmp data direct
state=$MNT/.meta/graphs/active/b/private
expect_match "how it is encrypted" "encryption = TLSv1\.[23], .*certificate is of 'server'" \
    "$(cat "$state")"

# Many processes at once: calls and answers of all sizes, in both directions.
copy () {
    cp "$TEST_DIR/data" "$MNT/copy-$1" && cmp "$TEST_DIR/data" "$MNT/copy-$1" &&
        find "$MNT" -name 'copy-*' >/dev/null
}
jobs=()
for number in {1..8}; do
    copy "$number" &
    jobs+=($!)
done
for job in "${jobs[@]}"; do
    wait "$job" || fail "a copy among others failed"
done

# The brick dies, and comes back.
exec 5>>"$MNT/open"
brick_kill b
wait_until "grep -q 'lost the connection to brick' $LOG"
expect_error 'not connected' ls "$MNT/none"
brick_start b 5>&-
wait_until "stat $MNT/data >/dev/null 2>&1"
echo again >&5
exec 5>&-
expect "what was written after that" again "$(cat "$TEST_DIR/b.d/open")"
expect_ok cmp data "$MNT/data"
unmount

tls_volfile b stranger one
refused "the server refused 'b': .*auth\.ssl-allow"
