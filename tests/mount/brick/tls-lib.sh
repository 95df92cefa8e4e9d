# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests of TLS with bricks: lib.sh, and certificates. A test begins with
#
#   . "$(dirname "$0")/tls-lib.sh"
#   ca one                       # a CA: one.pem, one.key
#   certificate server one       # server.pem and server.key, signed by it; the name is `server`
#   tls_brick b server one       # a brick `b` that shows server.pem and trusts one.pem
#   tls_volfile b client one     # $VOL: a client of it that shows client.pem and trusts one.pem

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_command openssl
grep -qs HAVE_OPENSSL.1 "$BUILD_DIR/config.h" || skip "needs a build with OpenSSL"
export OPENSSL_CONF=/dev/null
KEY_KIND=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)

# openssl_do WORD...: prints only errors
openssl_do () {
    openssl "$@" >openssl.out 2>&1 || {
        cat openssl.out
        fail "openssl $* failed"
    }
}

# ca NAME [CA]: signed by itself, or by another CA
ca () {
    printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign,cRLSign\n' >ca.ext
    openssl_do req "${KEY_KIND[@]}" -keyout "$1.key" -out "$1.csr" -subj "/CN=CA $1"
    if [ $# = 1 ]; then
        openssl_do x509 -req -in "$1.csr" -signkey "$1.key" -extfile ca.ext -days 30 -out "$1.pem"
    else
        openssl_do x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial \
            -extfile ca.ext -days 30 -out "$1.pem"
    fi
}

# certificate NAME CA [DAYS [EXTENSION]]
certificate () {
    echo "${4-basicConstraints=CA:FALSE}" >certificate.ext
    openssl_do req "${KEY_KIND[@]}" -keyout "$1.key" -out "$1.csr" -subj "/CN=$1"
    openssl_do x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial \
        -extfile certificate.ext -days "${3-30}" -out "$1.pem"
}

# expired NAME CA: a certificate that has ended. OpenSSL 3.5 makes none that ends before it begins.
expired () {
    certificate "$1" "$2" 0
    wait_until "! openssl x509 -in '$1.pem' -noout -checkend 0 >/dev/null"
}

# tls_brick NAME CERTIFICATE CA [OPTION...]: options for the server's volume
tls_brick () {
    local name=$1 certificate=$2 ca=$3
    shift 3
    BRICK_OPTIONS=("option auth.addr.$name.allow 127.0.0.1"
        'option transport.socket.ssl-enabled on'
        "option transport.socket.ssl-own-cert $TEST_DIR/$certificate.pem"
        "option transport.socket.ssl-private-key $TEST_DIR/$certificate.key"
        "option transport.socket.ssl-ca-list $TEST_DIR/$ca.pem" "$@")
    brick "$name"
}

# tls_volfile NAME CERTIFICATE CA [OPTION=VALUE...]
tls_volfile () {
    local name=$1 certificate=$2 ca=$3
    shift 3
    brick_volfile "$name" transport.socket.ssl-enabled=on \
        "transport.socket.ssl-own-cert=$TEST_DIR/$certificate.pem" \
        "transport.socket.ssl-private-key=$TEST_DIR/$certificate.key" \
        "transport.socket.ssl-ca-list=$TEST_DIR/$ca.pem" "$@"
}

# refused REGEX: $VOL isn't mounted, for that reason
refused () {
    expect_error "$1" timeout 60 "$WINDLASS" -f "$VOL" -l "$LOG" --io-uring=off "$MNT"
    expect_error '' mountpoint -q "$MNT"
}
