#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick that demands TLS is a file system as any other brick is, also after it died and came back.
# It knows its clients by the names in their certificates, and nothing can be read on the network.
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

# Names and data can't be read on the network; those of a brick without TLS can: see below.
cat >listen.py <<'EOF'
import socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
link.settimeout(0.2)
print("ready", flush=True)
sys.stdin.readline()
heard = b""
try:
    while True:
        heard += link.recv(1 << 17)
except TimeoutError:
    print(" ".join(word for word in sys.argv[1:] if word.encode() in heard))
EOF

# heard: which words pass while they are written, in a name and in data, and read again
heard () {
    local words
    coproc LISTEN { exec python3 listen.py nameword dataword; }
    read -r _ <&"${LISTEN[0]}"
    echo dataword >"$MNT/nameword"
    cat "$MNT/nameword" >/dev/null
    echo >&"${LISTEN[1]}"
    read -r words <&"${LISTEN[0]}"
    echo "$words"
}
expect "words that pass with TLS" "" "$(heard)"

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

# The client's certificate is renewed: connections from then on show the new one. Files that are
# wrong are not used.
client_renew () {
    brick_kill b
    cp "$1.key" client.key
    cp "$1.pem" client.pem
    brick_start b
}
client_renew stranger
wait_until "grep -q \"can't be used: the server refused 'b'.*auth.ssl-allow\" $LOG"
echo none >none.pem
cp stranger.key none.key
client_renew none
wait_until "grep -q 'TLS files have changed and .* stay in use: .*client.pem. ' $LOG"
openssl_do req "${KEY_KIND[@]}" -keyout renewed.key -out renewed.csr -subj "/CN=client"
openssl_do x509 -req -in renewed.csr -CA one.pem -CAkey one.key -CAcreateserial -days 30 \
    -out renewed.pem
client_renew renewed
wait_until "stat $MNT/data >/dev/null 2>&1"
unmount

BRICK_OPTIONS=()
brick plain
brick_volfile plain
mount_volfile "$VOL"
expect "words that pass without TLS" "nameword dataword" "$(heard)"
unmount

tls_volfile b stranger one
refused "the server refused 'b': .*auth\.ssl-allow"
