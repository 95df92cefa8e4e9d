#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How a volume may be named: with the port of its server, for one server or for all; and a snapshot,
# which is mounted read-only, or a directory of it.
# through: device
. "$(dirname "$0")/../brick/lib.sh"
server=127.1.1.1

# The glusterd is not at the usual port. It has the volfile of one brick.
brick one
mkdir -p one.d/below
echo text >one.d/below/file
brick_volfile one
cp "$VOL" told.vol
coproc GLUSTERD { exec python3 "$SOURCE_DIR/tests/mount/volume/glusterd.py" $server:24100 told.vol; }
BRICK_PID[glusterd]=$GLUSTERD_PID
read -r -t 20 line <&"${GLUSTERD[0]}"
expect "glusterd.py" ready "$line"

# asked NAME: the glusterd was asked for it.
asked () {
    grep -qaF "$1" told.vol.asked || fail "glusterd was not asked for '$1'"
    rm told.vol.asked
}

# mounted FILE WORD...
mounted () {
    local file=$1
    shift
    mount_volume "$@" "$MNT"
    expect "what is mounted by $*" text "$(cat "$MNT/$file")"
}

for words in "$server:24100:/one" "[$server]:24100:/one" "-o server-port=24100 $server:/one" \
    "-o server-port=24100 127.1.1.2:24101,$server:/one" \
    "-s $server --volfile-id=one -o server-port=24100" \
    "-o server-port=24100,backup-volfile-servers=$server 127.1.1.2:/one"; do
    # shellcheck disable=SC2086 # several
    mounted below/file $words
    asked one
    touch "$MNT/below/new" || fail "a volume can't be written to"
    unmount
done
expect_error "no glusterd listens at $server, port 24007" \
    timeout 60 "$WINDLASS" -l "$LOG" $server:/one "$MNT"
expect_error "no glusterd listens at $server, port 24101; .*no glusterd listens at ::1, port 24102" \
    timeout 60 "$WINDLASS" -l "$LOG" -o server-port=24102 $server:24101,::1:/one "$MNT"
expect_error "the port of '$server:70000' must be 1 to 65535" \
    timeout 60 "$WINDLASS" -l "$LOG" $server:70000:/one "$MNT"

# Another volfile is heard of from the same port.
mounted below/file $server:24100:/one
sed 's/^volume one$/&-brick/' "$VOL" >other.vol
printf 'volume one\n    type debug/io-stats\n    subvolumes one-brick\nend-volume\n' >>other.vol
mv other.vol told.vol
echo changed >&"${GLUSTERD[1]}"
wait_until "'$WINDLASS' graph '$MNT' | grep -q debug/io-stats"
unmount

mounted below/file $server:24100:/snaps/monday/one
asked /snaps/monday/one
expect_error 'Read-only file system' touch "$MNT/below/more"
unmount
mounted file -o server-port=24100 $server:/snaps/monday/one/below
asked /snaps/monday/one
expect_error 'Read-only file system' touch "$MNT/more"
unmount
