# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: LGPL-2.1-or-later
# What mount tests share. A test begins with
#
#   . "$(dirname "$0")/lib.sh"
#   stack encryption/rot-13    # writes $VOL: storage/posix over $BACK, and that on top of it
#   mount_volfile "$VOL"       # mounts it on $MNT; more options of windlass may follow
#
# and is over when it ends: what it mounted is unmounted. It can also be run by itself, on the build
# that ./windlass runs: tests/namespace sets up what it needs.
#
#   $TEST_DIR   an empty folder of its own       $BACK  the directory behind the mount
#   $MNT        the mount point                  $LOG   the daemon's log
#   $WINDLASS   the program                      $SOURCE_DIR, $BUILD_DIR, $BUILD_NAME
#   $PROGRAMS   where programs/*.c are, built
#   $TEST_THROUGH  how requests come to the daemon: device or io_uring

set -u
[ -n "${TEST_DIR-}" ] || exec "$(dirname "${BASH_SOURCE[0]}")/../namespace" "$0" "$@"
: "${WINDLASS:=$SOURCE_DIR/windlass}"
: "${BUILD_NAME:=debug}"
export WINDLASS_XLATOR_PATH=${WINDLASS_XLATOR_PATH-$BUILD_DIR/xlators:$BUILD_DIR/tests/xlators}
BACK=$TEST_DIR/back
MNT=$TEST_DIR/mnt
LOG=$TEST_DIR/log
VOL=$TEST_DIR/test.vol
PROGRAMS=$BUILD_DIR/tests/mount/programs
# What a sanitizer finds in the background goes to files, and cleanup looks for them.
for options in ASAN_OPTIONS TSAN_OPTIONS; do
    export "$options=${!options:+${!options}:}log_path=$TEST_DIR/sanitizer"
done
# Address space layout as TSan expects it.
[ "$BUILD_NAME" != tsan ] || export RUN="${RUN:-setarch -R}"
mkdir -p "$BACK" "$MNT"
cd "$TEST_DIR" || exit 1

# --- saying how it went ---------------------------------------------------------------------------

fail () {
    echo "FAILED at $(caller 0 | cut -d' ' -f1): $*" >&2
    exit 1
}

skip () {
    echo "$*"
    exit 77
}

# expect WHAT EXPECTED GOT
expect () {
    [ "$2" = "$3" ] && return 0
    printf 'FAILED at %s: %s: expected\n%s\ngot\n%s\n' "$(caller 0 | cut -d' ' -f1)" "$1" "$2" \
        "$3" >&2
    exit 1
}

# expect_match WHAT REGEX GOT: some line of GOT matches the extended regular expression.
expect_match () {
    grep -Eq -- "$2" <<<"$3" && return 0
    printf 'FAILED at %s: %s: expected a line that matches\n%s\ngot\n%s\n' \
        "$(caller 0 | cut -d' ' -f1)" "$1" "$2" "$3" >&2
    exit 1
}

expect_no_match () {
    grep -Eq -- "$2" <<<"$3" || return 0
    printf 'FAILED at %s: %s: expected no line that matches\n%s\ngot\n%s\n' \
        "$(caller 0 | cut -d' ' -f1)" "$1" "$2" "$3" >&2
    exit 1
}

# expect_ok COMMAND...: it succeeds.
expect_ok () {
    local out status
    out=$("$@" 2>&1) && return 0
    status=$?
    printf 'FAILED at %s: expected success of: %s\ngot exit status %s and\n%s\n' \
        "$(caller 0 | cut -d' ' -f1)" "$*" $status "$out" >&2
    exit 1
}

# expect_error REGEX COMMAND...: it fails, and says something that matches.
expect_error () {
    local regex=$1 out
    shift
    if out=$("$@" 2>&1); then
        printf 'FAILED at %s: expected failure of: %s\nit said\n%s\n' \
            "$(caller 0 | cut -d' ' -f1)" "$*" "$out" >&2
        exit 1
    fi
    expect_match "the failure of: $*" "$regex" "$out"
}

# What a caller gets when the daemon has been killed: it is gone, the kernel notices just now, or
# the request waited in the daemon's ring.
DAEMON_GONE='not connected|connection abort|Operation canceled'

# --- what a test needs ----------------------------------------------------------------------------

need_command () {
    for command in "$@"; do
        command -v "$command" >/dev/null || skip "needs $command"
    done
}

need_root () {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

need_fuse () {
    [[ -c /dev/fuse && -r /dev/fuse && -w /dev/fuse ]] || skip "needs /dev/fuse"
}

need_io_uring () {
    grep -qs '[Y1]' /sys/module/fuse/parameters/enable_uring ||
        skip "needs FUSE over io_uring: Linux 6.14, and root to turn it on"
}

# user COMMAND...: runs it as a user other than root that owns nothing (65534).
user () {
    setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

need_user_namespaces () {
    user unshare --user --map-root-user --mount true 2>/dev/null || skip "needs user namespaces"
}

# lock_begin KIND HELD WAITED: a process has a write lock on the file HELD, until lock_pass; another
# waits for one on WAITED, and has it then until lock_end. Sets $holder and $waiter.
lock_begin () {
    mkfifo holds waits
    "$PROGRAMS/lock" "$1" write wait "$2" <holds >held &
    holder=$!
    exec 5>holds
    wait_until "grep -q got held"
    "$PROGRAMS/lock" "$1" write wait "$3" <waits >waited 5>&- &
    waiter=$!
    exec 6>waits
}

lock_pass () {
    exec 5>&-
    wait $holder
    wait_until "grep -q got waited"
}

lock_end () {
    exec 6>&-
    wait $waiter
    rm holds waits held waited
}

# let_users_mount: the test goes on as root, but users may mount.
let_users_mount () {
    need_root
    need_command fusermount3
    need_mtab
}

# fusermount3 unmounts for users what it finds there; some containers have none.
need_mtab () {
    [ -r /etc/mtab ] || skip "needs /etc/mtab, so that fusermount3 can unmount for a user:" \
        "ln -s /proc/self/mounts /etc/mtab"
}

# drop_root: runs all of the test as that user, if root started it. Call it near the beginning,
# since it starts the test again.
drop_root () {
    [ "$(id -u)" = 0 ] || return 0
    user test -r "$SOURCE_DIR/tests/run" -a -x "$BUILD_DIR/src/windlass" ||
        skip "needs sources and a build that others may read"
    need_mtab
    chown -R 65534:65534 "$BACK" "$MNT"
    trap - EXIT
    exec setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$TEST_DIR" "$0"
}

# amount SHORT LONG: SHORT, or LONG if ./check --long runs the test, in a line "longer" of its own.
amount () {
    if [ -n "${TEST_LONG-}" ]; then echo "$2"; else echo "$1"; fi
}

# --- waiting --------------------------------------------------------------------------------------

# wait_until [SECONDS] 'CONDITION': looks 20 times a second. The seconds only end a test that hangs:
# on a busy machine anything may take a while.
wait_until () {
    local seconds=100 end
    if [ $# = 2 ]; then
        seconds=$1
        shift
    fi
    end=$((SECONDS + seconds))
    until eval "$1"; do
        [ $SECONDS -gt $end ] && fail "waited $seconds seconds in vain for: $1"
        sleep 0.05
    done
}

is_mounted () {
    mountpoint -q "$MNT"
}

# A zombie is not; its parent may reap it later.
is_running () {
    grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null
}

# --- mounting -------------------------------------------------------------------------------------

# stack TYPE[,OPTION=VALUE]...: writes $VOL, storage/posix at the bottom and the last TYPE on top.
# The volumes are called posix and, from the bottom up, the last part of each TYPE with its number:
# rot-13-1. Options for storage/posix: POSIX_OPTIONS.
stack () {
    local below=posix number=0 name spec setting
    {
        printf 'volume posix\n    type storage/posix\n    option directory "%s"\n' "$BACK"
        for setting in ${POSIX_OPTIONS-}; do
            printf '    option %s "%s"\n' "${setting%%=*}" "${setting#*=}"
        done
        echo end-volume
        for spec in "$@"; do
            number=$((number + 1))
            name=${spec%%,*}
            printf 'volume %s\n    type %s\n' "${name##*/}-$number" "$name"
            for setting in $(tr ',' '\n' <<<"$spec" | sed 1d); do
                printf '    option %s "%s"\n' "${setting%%=*}" "${setting#*=}"
            done
            printf '    subvolumes %s\nend-volume\n' "$below"
            below=${name##*/}-$number
        done
    } >"$VOL"
}

# mount_volfile FILE [OPTION...]: mounts it on $MNT, in the background; the test fails if that does.
# $DAEMON is its process. Reads and writes come to the daemon, which most tests look at, unless the
# test sets PASSTHROUGH to auto. io_uring is required or off, as $TEST_THROUGH says.
mount_volfile () {
    local file=$1 io_uring=off
    shift
    [ "$TEST_THROUGH" = device ] || io_uring=required
    need_fuse
    "$WINDLASS" -f "$file" -l "$LOG" -p "$TEST_DIR/pid" --passthrough="${PASSTHROUGH:-off}" \
        --io-uring="$io_uring" "$@" "$MNT" || {
        cat "$LOG" >&2
        fail "'$file' was not mounted: exit status $?"
    }
    is_mounted || fail "windlass says that it mounted '$file', but it didn't"
    DAEMON=$(cat "$TEST_DIR/pid")
}

# Waits until the daemon is gone, too.
unmount () {
    if [ "$(id -u)" = 0 ]; then umount "$MNT"; else fusermount3 -u "$MNT"; fi ||
        fail "could not unmount"
    wait_until "! is_running $DAEMON"
    DAEMON=''
}

DAEMON=''
cleanup () {
    local status=$?
    set +e
    cd /
    awk -v dir="$TEST_DIR/" 'index ($5, dir) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
        while read -r mount; do
            mount=$(printf '%b' "$mount") # a blank is \040 there
            umount -l "$mount" 2>/dev/null || fusermount3 -u -z "$mount"
        done
    if [ -n "$DAEMON" ]; then
        for _ in {1..60}; do
            is_running "$DAEMON" || break
            sleep 0.05
        done
        kill -9 "$DAEMON" 2>/dev/null
    fi
    for report in "$TEST_DIR"/sanitizer.*; do
        [ -s "$report" ] || continue
        echo "--- ${report##*/}"
        cat "$report"
        status=1
    done
    if [ $status != 0 ] && [ $status != 77 ] && [ -s "$LOG" ]; then
        echo "--- the daemon's log"
        tail -n 60 "$LOG"
    fi
    exit $status
}
trap cleanup EXIT
trap 'exit 143' TERM INT HUP

# abort_at_exit: for a test whose failure leaves a daemon that can't end, and a caller that waits for
# it: the connection is aborted. Its number belongs to the mount; without it, to the next mount on
# the machine.
abort_at_exit () {
    mount -t fusectl fusectl /sys/fs/fuse/connections || skip "needs /sys/fs/fuse/connections"
    trap abort_and_cleanup EXIT
}

abort_and_cleanup () {
    local status=$? connection
    connection=$(awk -v at="$MNT" '$5 == at { sub (".*:", "", $3); print $3 }' /proc/self/mountinfo)
    [ -z "$connection" ] || echo 1 2>/dev/null >"/sys/fs/fuse/connections/$connection/abort"
    (exit $status)
    cleanup
}
