# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests with bricks of GlusterFS: real servers (glusterfsd), in a network of the test's own, so
# that any port is free and nothing outside is reached. A test begins with
#
#   . "$(dirname "$0")/lib.sh"
#   brick one                  # starts a brick: $TEST_DIR/one.d behind 127.0.0.1, port 49501
#   brick_volfile one          # writes $VOL: protocol/client for it, a volume called `one`
#   mount_volfile "$VOL"
#
# relay NAME puts relay.py between the clients and the brick; tell_client ORDER has it do something.
# brick_stop, brick_kill and brick_start NAME end it and start it again, on the same port. What is
# started is ended with the test.

if [ -z "${OWN_NETWORK-}" ] && [ -n "${TEST_DIR-}" ] && [ "$(id -u)" = 0 ]; then
    export OWN_NETWORK=1
    exec unshare --net "$0" "$@"
fi
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
need_root
need_command glusterfsd python3
python3 - <<'EOF' || fail "could not bring the loopback up"
import fcntl, socket, struct
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
EOF

declare -A BRICK_PID=() BRICK_PORT=()
BRICK_OPTIONS=() # lines for the server's volume

# Servers that glusterd started are no children of the test: they name its folder.
bricks_end () {
    local status=$? pid
    for pid in "${BRICK_PID[@]}" $(pgrep -f "^[^ ]*gluster.*$TEST_DIR/"); do
        kill -CONT "$pid" 2>/dev/null
        kill -9 "$pid" 2>/dev/null
    done
    return $status
}
trap 'bricks_end; cleanup' EXIT

# As glusterd writes it: rights are checked, locks are kept, others' changes are told.
brick_write_volfile () {
    local name=$1 line
    cat <<EOF
volume $name-posix
    type storage/posix
    option directory $TEST_DIR/$name.d
end-volume
volume $name-acl
    type features/access-control
    subvolumes $name-posix
end-volume
volume $name-locks
    type features/locks
    subvolumes $name-acl
end-volume
volume $name-upcall
    type features/upcall
    option cache-invalidation on
    subvolumes $name-locks
end-volume
volume $name
    type performance/io-threads
    subvolumes $name-upcall
end-volume
volume $name-server
    type protocol/server
    option transport-type tcp
    option transport.address-family inet
    option transport.socket.bind-address 127.0.0.1
    option transport.socket.listen-port ${BRICK_PORT[$name]}
EOF
    for line in "${BRICK_OPTIONS[@]:-option auth.addr.$name.allow 127.0.0.1}"; do
        echo "    $line"
    done
    printf '    subvolumes %s\nend-volume\n' "$name"
}

port_listens () {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

brick_start () {
    glusterfsd -N -f "$TEST_DIR/$1.brick.vol" -l "$TEST_DIR/$1.brick.log" >/dev/null 2>&1 &
    BRICK_PID[$1]=$!
    (wait_until "port_listens ${BRICK_PORT[$1]}") ||
        fail "brick $1: $(tail -n 5 "$TEST_DIR/$1.brick.log")"
}

brick_end () {
    kill -"$2" "${BRICK_PID[$1]}"
    wait "${BRICK_PID[$1]}" 2>/dev/null
    unset "BRICK_PID[$1]"
}

brick_stop () {
    brick_end "$1" TERM
}

brick_kill () {
    brick_end "$1" KILL
}

# All of its threads have stopped when this returns.
brick_freeze () {
    kill -STOP "${BRICK_PID[$1]}"
    wait_until "! grep -L '^State:.*T' /proc/${BRICK_PID[$1]}/task/*/status | grep -q ."
}

# brick NAME: the brick's directory is $TEST_DIR/NAME.d.
brick () {
    BRICK_PORT[$1]=$((49501 + ${#BRICK_PORT[@]}))
    mkdir -p "$TEST_DIR/$1.d"
    brick_write_volfile "$1" >"$TEST_DIR/$1.brick.vol"
    brick_start "$1"
}

# brick_volfile NAME [OPTION=VALUE...]
brick_volfile () {
    local name=$1 setting
    shift
    {
        cat <<EOF
volume $name
    type protocol/client
    option remote-host 127.0.0.1
    option remote-port ${BRICK_PORT[$name]}
    option remote-subvolume $name
EOF
        for setting in "$@"; do
            printf '    option %s "%s"\n' "${setting%%=*}" "${setting#*=}"
        done
        echo end-volume
    } >"$VOL"
}

# Clients whose volfiles are written afterwards connect to the relay.
relay () {
    local relay=$SOURCE_DIR/tests/mount/programs/relay.py
    coproc RELAY { exec python3 "$relay" 49500 "${BRICK_PORT[$1]}"; }
    BRICK_PID[relay]=$RELAY_PID
    BRICK_PORT[$1]=49500
    tell_client_wait ready
}

tell_client_wait () {
    local line
    read -r -t 20 line <&"${RELAY[0]}" || fail "the relay does not answer"
    expect "the relay's answer" "$1" "$line"
}

tell_client () {
    echo "$*" >&"${RELAY[1]}"
    tell_client_wait 'done'
}

# overlay_on VOLUME: adds a view of it to $VOL, whose changes lie in $TEST_DIR/changes.
overlay_on () {
    mkdir -p "$TEST_DIR/changes"
    cat >>"$VOL" <<EOF
volume changes
    type storage/posix
    option directory "$TEST_DIR/changes"
end-volume
volume overlay
    type cluster/overlay
    subvolumes changes $1
end-volume
EOF
}

# glusterd_begin ADDRESS [FILE]: a glusterd with its bricks, all on this address of the loopback.
# What it keeps outside of the test's folder is hidden from the system. FILE: an empty file that it
# finds.
glusterd_begin () {
    local folder
    for folder in /var/run/gluster /var/lib/glusterd /var/log/glusterfs; do
        mkdir -p "$folder" && mount -t tmpfs tests "$folder" || fail "could not hide $folder"
    done
    mkdir -p /var/log/glusterfs/bricks "$TEST_DIR/glusterd-run"
    [ $# = 1 ] || touch "$2"
    cat >"$TEST_DIR/glusterd.vol" <<EOF
volume management
    type mgmt/glusterd
    option working-directory $TEST_DIR/glusterd
    option run-directory $TEST_DIR/glusterd-run
    option glusterd-sockfile $TEST_DIR/glusterd.socket
    option logging-directory $TEST_DIR/glusterd-log
    option transport-type socket
    option transport.address-family inet
    option transport.socket.bind-address $1
    option transport.socket.listen-port 24007
    option base-port 49600
    option max-port 49650
end-volume
EOF
    mkdir -p "$TEST_DIR/glusterd" "$TEST_DIR/glusterd-log"
    glusterd_start
}

# brick_kill glusterd ends it; its bricks go on.
glusterd_start () {
    glusterd -N -f "$TEST_DIR/glusterd.vol" -p "$TEST_DIR/glusterd.pid" \
        -l "$TEST_DIR/glusterd-log/glusterd.log" >/dev/null 2>&1 &
    BRICK_PID[glusterd]=$!
    wait_until "gluster_do pool list >/dev/null 2>&1"
}

gluster_do () {
    gluster --glusterd-sock="$TEST_DIR/glusterd.socket" --mode=script \
        --log-file="$TEST_DIR/glusterd-log/cli.log" "$@"
}

# volume_start WORD...: starts windlass for a volume, which WORDs name, and a mount point. Returns
# whether it is mounted; what windlass said is in $TEST_DIR/err. mount_volume fails the test if not.
volume_start () {
    local io_uring=off
    [ "$TEST_THROUGH" = device ] || io_uring=required
    "$WINDLASS" -l "$LOG" -p "$TEST_DIR/pid" --io-uring=$io_uring "$@" 2>"$TEST_DIR/err" &&
        is_mounted && DAEMON=$(cat "$TEST_DIR/pid")
}

mount_volume () {
    volume_start "$@" || fail "not mounted: $*: $(cat "$TEST_DIR/err")"
}

# distribute_volfile FILE NAME...: writes a volfile of cluster/distribute, called `all`, over these
# bricks; Windlass and stock clients take it. DISTRIBUTE_OPTIONS has lines for it.
DISTRIBUTE_OPTIONS=()
distribute_volfile () {
    local file=$1 name line
    shift
    {
        for name in "$@"; do
            cat <<EOF_BRICK
volume c-$name
    type protocol/client
    option transport-type tcp
    option transport.address-family inet
    option remote-host 127.0.0.1
    option remote-port ${BRICK_PORT[$name]}
    option remote-subvolume $name
end-volume
EOF_BRICK
        done
        printf 'volume all\n    type cluster/distribute\n'
        for line in "${DISTRIBUTE_OPTIONS[@]}"; do
            echo "    $line"
        done
        printf '    subvolumes'
        printf ' c-%s' "$@"
        printf '\nend-volume\n'
    } >"$file"
}
