# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests of cluster/replicate: three bricks of GlusterFS with an index of what must be healed,
# and a volfile, as glusterd would write them.
#
#   . "$(dirname "$0")/lib.sh"
#   bricks_begin               # c0, c1, c2: $TEST_DIR/c0.d and so on
#   replicate_volfile [OPTION=VALUE...]     # writes $VOL: a volume called `r`
. "$(dirname "${BASH_SOURCE[0]}")/../brick/lib.sh"
need_command getfattr setfattr

BRICKS=(c0 c1 c2)

# brick_node NAME: the UUID of the brick's node
brick_node () {
    printf '00000000-0000-4000-8000-%012d' "${BRICK_PORT[$1]}"
}

brick_write_volfile () {
    local name=$1
    cat <<END
volume $name-posix
    type storage/posix
    option directory $TEST_DIR/$name.d
    option glusterd-uuid $(brick_node "$name")
end-volume
volume $name-acl
    type features/access-control
    subvolumes $name-posix
end-volume
volume $name-locks
    type features/locks
    option notify-contention yes
    option notify-contention-delay 1
    subvolumes $name-acl
end-volume
volume $name-io
    type performance/io-threads
    subvolumes $name-locks
end-volume
volume $name
    type features/index
    option index-base $TEST_DIR/$name.d/.glusterfs/indices
    option xattrop-dirty-watchlist trusted.afr.dirty
    option xattrop-pending-watchlist trusted.afr.c
    subvolumes $name-io
end-volume
volume $name-server
    type protocol/server
    option transport-type tcp
    option transport.address-family inet
    option transport.socket.bind-address 127.0.0.1
    option transport.socket.listen-port ${BRICK_PORT[$name]}
    option auth.addr.$name.allow 127.0.0.1
    subvolumes $name
end-volume
END
}

bricks_begin () {
    local name
    for name in "${BRICKS[@]}"; do
        mkdir -p "$TEST_DIR/$name.d"
        mkdir -m 700 "$TEST_DIR/$name.d/.glusterfs"
        brick "$name"
    done
}

replicate_volfile () {
    local name setting
    for name in "${BRICKS[@]}"; do
        brick_volfile "$name" ping-timeout="${PING_TIMEOUT:-60}"
        cat "$VOL"
    done >"$VOL.all"
    {
        cat "$VOL.all"
        printf 'volume r\n    type cluster/replicate\n    option quorum-type auto\n'
        for setting in "$@"; do
            printf '    option %s "%s"\n' "${setting%%=*}" "${setting#*=}"
        done
        printf '    subvolumes %s\nend-volume\n' "${BRICKS[*]}"
    } >"$VOL"
    rm "$VOL.all"
}

# copy_list NAME: all of a brick's tree, for comparison: names, types, modes, owners, contents and
# users' attributes.
copy_list () (
    cd "$TEST_DIR/$1.d" || exit
    find . -path ./.glusterfs -prune -o -path ./.glusterfs-anonymous-inode'*' -prune -o \
        ! -type d -printf '%p %y %m %U:%G %s %l\n' -o -printf '%p %y %m %U:%G\n' | sort
    find . -path ./.glusterfs -prune -o -type f -print0 | sort -z | xargs -0r sha256sum
    find . -path ./.glusterfs -prune -o ! -type l -print | sort |
        xargs -rd '\n' getfattr -m '^user\.' -d 2>/dev/null
)

copies_are_equal () {
    local name
    copy_list "${BRICKS[0]}" >"$TEST_DIR/first.list"
    for name in "${BRICKS[@]:1}"; do
        copy_list "$name" | cmp -s - "$TEST_DIR/first.list" || return 1
    done
}

expect_equal_copies () {
    local name
    copies_are_equal && return
    for name in "${BRICKS[@]:1}"; do
        copy_list "$name" | diff "$TEST_DIR/first.list" - | head -n 20
    done
    fail "the copies differ $*"
}

# marks [NAME...]: every mark on bricks that is not zero, "brick: path: attribute=value"
marks () {
    local name
    for name in "${@:-${BRICKS[@]}}"; do
        (cd "$TEST_DIR/$name.d" && find . -path ./.glusterfs -prune -o -print0 |
            xargs -0 getfattr -h -m '^trusted\.afr\.' -d -e hex 2>/dev/null |
            LC_ALL=C awk -v brick="$name" '/^# file: / { path = substr ($0, 9) }
                /^trusted/ && $0 !~ /=0x0*$/ { print brick ": " path ": " $0 }')
    done
}

# accuse BRICK PATH ACCUSED DATA METADATA [ENTRIES]: a mark of so many changes that ACCUSED missed
accuse () {
    setfattr -n "trusted.afr.$3" -v "0x$(printf '%08x%08x%08x' "$4" "$5" "${6:-0}")" "$1.d/$2"
}

no_marks () {
    [ -z "$(marks "$@")" ]
}

# indexed NAME: how many objects a brick's index lists for the healer
indexed () {
    find "$TEST_DIR/$1.d/.glusterfs/indices/xattrop" -type f ! -name 'xattrop-*' 2>/dev/null |
        wc -l
}

# accusers [NAME...]: the paths of what has marks. A name may be no UTF-8.
accusers () {
    marks "$@" | LC_ALL=C awk '{ print $2 }' | LC_ALL=C tr -d : | LC_ALL=C sort -u
}

# heal_all [MARKS]: heals what has marks until none is left, of those that match MARKS. Fails if
# nothing changes for a minute.
heal_all () {
    local path wanted=${1:-.} left before end=$((SECONDS + 60))
    left=$(marks | LC_ALL=C grep -a "$wanted")
    until [ -z "$left" ]; do
        [ $SECONDS -lt $end ] || fail "marks are left: $left"
        "$WINDLASS" heal "$MNT" / >>heal.out 2>&1
        accusers | while read -r path; do
            [ "$path" = . ] || "$WINDLASS" heal "$MNT" "$path" >>heal.out 2>&1
        done
        before=$left
        left=$(marks | LC_ALL=C grep -a "$wanted")
        [ "$left" = "$before" ] || end=$((SECONDS + 60))
    done
}
