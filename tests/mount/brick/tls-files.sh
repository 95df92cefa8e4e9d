#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files of a client with TLS that can't be used: no mount, and a sentence that says which, and what
# is wrong with it.
. "$(dirname "$0")/tls-lib.sh"

ca one
certificate server one
certificate client one
expired old one

BRICK_PORT[b]=5000
tls_volfile b none one
refused "the certificate '.*none\.pem' \(ssl-own-cert\) can't be read: No such file.*a certificate"
tls_volfile b client none
refused "the list of trusted CAs '.*none\.pem' \(ssl-ca-list\) can't be read"
tls_volfile b old one
refused "the certificate '.*old\.pem' \(ssl-own-cert\) has expired, on .*; it must be renewed"
cp old.csr text.pem
tls_volfile b text one
refused "the certificate '.*text\.pem' .* can't be used: it is not in PEM format"
tls_volfile b client text
refused "the list of trusted CAs '.*text\.pem' .* not in PEM format"
cp client.pem mixed.pem
cp server.key mixed.key
tls_volfile b mixed one
refused "the private key '.*mixed\.key' .* does not belong to the certificate '.*mixed\.pem'"
echo none >mixed.key
refused "the private key '.*mixed\.key' .* can't be used: it is not in PEM format"
cp client.pem closed.pem
openssl_do ec -in client.key -aes128 -passout pass:secret -out closed.key
tls_volfile b closed one
refused "the private key '.*closed\.key' .* is protected by a passphrase"
tls_volfile b client one transport.socket.ssl-crl-path=/none
refused "there is no directory '/none' \(ssl-crl-path\)"
tls_volfile b client one transport.socket.ssl-cipher-list=HIGH:eNULL
refused "must be ciphers that encrypt .*; append ':!eNULL:!aNULL', got 'HIGH:eNULL'"
tls_volfile b client one transport.socket.ssl-cipher-list=none
refused "OpenSSL has no cipher of the list 'none' \(ssl-cipher-list\)"
tls_volfile b client one transport.socket.ssl-ec-curve=none
refused "OpenSSL lacks a curve of 'none' \(ssl-ec-curve\)"
tls_volfile b client one
chmod 644 client.key
refused 'no server listens at 127\.0\.0\.1, port 5000'
expect_match "the log" "any user can read the private key '.*client\.key'" "$(cat "$LOG")"
