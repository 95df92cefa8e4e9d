#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The volfile of a server names nothing of this machine: such a one is not mounted, and a running
# mount does not take it over. Records that are no answer do not keep a volfile from coming.
. "$(dirname "$0")/../brick/lib.sh"
server=127.1.1.1

# glusterd_with ADDRESS OTHERS: one that sends $TEST_DIR/told.vol
glusterd_with () {
    coproc GLUSTERD { exec python3 "$SOURCE_DIR/tests/mount/volume/glusterd.py" "$1" told.vol "$2"; }
    BRICK_PID[glusterd-$1]=$GLUSTERD_PID
    glusterd_wait ready
}

glusterd_wait () {
    local line
    read -r -t 20 line <&"${GLUSTERD[0]}" || fail "glusterd.py does not answer"
    expect "its answer" "$1" "$line"
}

# changed_to FILE: glusterd tells of another volfile.
changed_to () {
    mv "$1" told.vol
    echo changed >&"${GLUSTERD[1]}"
    glusterd_wait 'done'
}

# volume_refused REGEX
volume_refused () {
    expect_error "$1" timeout 60 "$WINDLASS" -l "$LOG" $server:/one "$MNT"
    expect_error '' mountpoint -q "$MNT"
}

brick one
brick_volfile one
cp "$VOL" brick.vol
mkdir local
echo secret >local/file
cat >posix.vol <<END
volume local
    type storage/posix
    option directory $TEST_DIR/local
end-volume
END
cp brick.vol told.vol
glusterd_with 127.1.1.2 101 2>/dev/null
expect_error "127.1.1.2 did not answer as a glusterd does" \
    timeout 60 "$WINDLASS" -l "$LOG" 127.1.1.2:/one "$MNT"
exec {GLUSTERD[1]}>&-
wait "${BRICK_PID[glusterd-127.1.1.2]}"
glusterd_with $server 100

cp posix.vol told.vol
volume_refused "$server:/one:2:10: error: volume 'local': type 'storage/posix' must have subvolumes"
sed 's/remote-port.*/transport-type unix/' brick.vol >told.vol
volume_refused ":4:27: error: .*so a server may not set it to 'unix'"
mkfifo fifo # which would hold a reader up
{
    cat brick.vol
    printf 'volume fault\n type debug/fault\n option rules %s\n subvolumes one\nend-volume\n' \
        "$TEST_DIR/fifo"
} >told.vol
volume_refused ":9:15: error: volume 'fault': option 'rules' can name a thing of this machine"
sed "s,remote-port.*,&\n option ssl-own-cert $TEST_DIR/mine.pem," brick.vol >told.vol
cp told.vol tls.vol

# The rest is mounted, and stays when the server changes its mind.
mount_volume $server:/one "$MNT"
expect_match "a path of TLS" "$server:/one:5:[0-9]*: warning: .*ssl-own-cert' is ignored" \
    "$(cat err)"
echo text >"$MNT/file"
{
    cat tls.vol posix.vol
    printf 'volume all\n type cluster/distribute\n subvolumes one local\nend-volume\n'
} >more.vol
changed_to more.vol
wait_until "grep -q 'reload: nothing was changed' '$LOG'"
expect_match "the log" "error: volume 'local': type 'storage/posix' must have subvolumes" \
    "$(cat "$LOG")"
expect_error "type 'storage/posix' must have subvolumes" "$WINDLASS" reload "$MNT"
expect "what is mounted" "file text" "$(ls "$MNT") $(cat "$MNT/file")"
sed 's/remote-port.*/&\n option ping-timeout 7/' brick.vol >known.vol
changed_to known.vol
wait_until "grep -q \"option 'ping-timeout': '42' -> '7'\" '$LOG'"
unmount
