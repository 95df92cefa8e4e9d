#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A server and a client that do not trust each other, or of which one speaks no TLS: no mount, and a
# sentence that says why.
. "$(dirname "$0")/tls-lib.sh"

ca one
ca other
ca below one
certificate server one
certificate client one
expired old one
certificate foreign other
certificate deep below
cat below.pem >>deep.pem
certificate named one 30 'subjectAltName=DNS:brick.test,IP:127.0.0.1'

# Servers' certificates.
tls_brick old old one
tls_volfile old client one
refused "the server's certificate, of 'old', has expired, on [-0-9]* .*; it must be renewed"
tls_brick foreign foreign one
tls_volfile foreign client one
refused "the server's certificate, of 'foreign', is signed by no CA in '.*one\.pem' \(ssl-ca-list\)"
tls_brick deep deep one
tls_volfile deep client one transport.socket.ssl-cert-depth=0
refused "between the server's certificate, of 'deep', .* more CAs than ssl-cert-depth, 0, allows"
tls_volfile deep client one
mount_volfile "$VOL"
unmount

# Names, on demand.
tls_brick named named one
tls_volfile named client one ssl-check-name=on
mount_volfile "$VOL"
unmount
tls_brick b server one
tls_volfile b client one ssl-check-name=on
refused "the server's certificate is of 'server', and not of '127\.0\.0\.1' \(remote-host\)"

# Revoked certificates. A CA without a list is fine.
mkdir lists
tls_volfile b client one "transport.socket.ssl-crl-path=$TEST_DIR/lists"
mount_volfile "$VOL"
unmount
printf '[ca]\ndefault_ca=it\n[it]\ndatabase=%s\ncrlnumber=%s\ndefault_md=sha256\n' \
    "$TEST_DIR/index" "$TEST_DIR/number" >ca.cnf
touch index
echo 01 >number
openssl_do ca -config ca.cnf -cert one.pem -keyfile one.key -revoke server.pem
openssl_do ca -config ca.cnf -cert one.pem -keyfile one.key -gencrl -crldays 30 -out lists/one.pem
openssl_do rehash lists
refused "the server's certificate, of 'server', has been revoked"

# The server refuses the client.
tls_volfile b foreign one
refused "the server refused this client's certificate '.*foreign\.pem' .*: the server doesn't know its CA"

# One side without TLS.
brick_volfile b
refused 'demand TLS.*ssl-enabled on'
BRICK_OPTIONS=()
brick plain
tls_volfile plain client one
refused 'the server (closed.* during|did not finish) the TLS handshake.*; is TLS on there \(server'

# A server that takes the connection, and is silent then.
BRICK_PORT[silent]=49599
python3 - "${BRICK_PORT[silent]}" <<'EOF' &
import signal, socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))):
    signal.pause()
EOF
BRICK_PID[silent]=$!
wait_until "port_listens ${BRICK_PORT[silent]}"
tls_volfile silent client one
refused 'the server did not finish the TLS handshake in 10 seconds'

# A server that sends only alerts, which OpenSSL does not take for errors.
alerts () { # NAME ALERT COUNT
    BRICK_PORT[$1]=$((49600 + $2))
    python3 - "${BRICK_PORT[$1]}" "$2" "$3" <<'EOF' &
import socket, sys
port, alert, count = map(int, sys.argv[1:])
with socket.create_server(("127.0.0.1", port)) as server:
    while True:
        client, _ = server.accept()
        client.recv(4096)
        client.sendall(bytes([21, 3, 3, 0, 2, 1, alert]) * count)
        client.recv(4096)
        client.close()
EOF
    BRICK_PID[$1]=$!
    wait_until "port_listens ${BRICK_PORT[$1]}"
    tls_volfile "$1" client one
}
alerts closes 0 1
refused "the server ended TLS with alert 0, 'close notify'"
alerts warns 90 8
refused "TLS failed: OpenSSL says '.*'; the server's last alert is 'user canceled'"

# The reason is told while the mount lasts, too.
tls_brick later server one
tls_volfile later client one
mount_volfile "$VOL" --attribute-timeout=600
brick_stop later
cp old.pem server.pem
cp old.key server.key
brick_start later
wait_until "grep -q \"brick .*:later can't be used: the server's certificate, of 'old', has\" $LOG"
expect_match "the state" "problem = the server's certificate, of 'old', has expired" \
    "$(cat "$MNT/.meta/graphs/active/later/private")"
expect_error 'not connected' ls "$MNT/none"
unmount
