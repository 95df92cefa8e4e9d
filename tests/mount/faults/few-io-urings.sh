#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's daemon that gets no further io_uring goes on with those it began with: it tries again at
# most once a second, and logs that once. A daemon that gets none at all uses /dev/fuse, and names
# the limit.
# through: io_uring
. "$(dirname "$0")/../lib.sh"
need_root
id games >/dev/null 2>&1 || skip "needs the user games"
need_command setpriv fusermount3 prlimit

user () { # LIMIT COMMAND...: of locked memory; nobody else has that uid
    local limit=$1
    shift
    prlimit --memlock="$limit" setpriv --reuid games --regid games --clear-groups \
        env HOME="$TEST_DIR" "$@"
}

mount_with () { # LIMIT OPTIONS...
    local limit=$1
    shift
    : >"$LOG" && chmod 666 "$LOG"
    user "$limit" "$WINDLASS" -f "$VOL" -l "$LOG" "$@" "$MNT" 2>err
}


chmod 755 "$TEST_DIR"
chown games:games "$BACK" "$MNT"
stack debug/delay-gen,delay-percentage=100%,delay-duration=20000,enable=fsync

mount_with 0 || fail "no mount without io_uring: $(cat err)"
expect_match "what it says" ' W .*no io_uring.*RLIMIT_MEMLOCK' "$(cat "$LOG")"
umount "$MNT"

limit=16384
until mount_with $limit --io-uring=required; do
    limit=$((limit + 8192))
    [ $limit -lt 1000000 ] || fail "it never starts: $(cat err)"
done
# Kilobytes that the kernel can't give back: each try keeps 9 of them until a grace period ends.
slab () {
    awk '$1 == "SUnreclaim:" { print $2 }' /proc/meminfo
}

before=$(slab)
begun=$(date +%s)
for i in {1..16}; do
    user 65536 sh -c "for round in 1 2 3 4 5 6 7 8; do
        dd if=/dev/zero of='$MNT/f$i' bs=4k count=1 conv=fsync 2>/dev/null && rm '$MNT/f$i'
    done" &
    jobs[i]=$!
done
expect "an attribute meanwhile" directory "$(user 65536 timeout 20 stat -c %F "$MNT")"
for i in {1..16}; do wait "${jobs[$i]}" || fail "a process couldn't write"; done
took=$(($(date +%s) - begun + 1))
grown=$(($(slab) - before))
# A try for each request would be a gigabyte.
[ $grown -lt 102400 ] || fail "the kernel's own memory has grown by $grown kB"
private=$(user 65536 cat "$MNT/.meta/master/private")
tries=$(sed -n 's/^threads_failed = //p' <<<"$private")
[ "${tries:-0}" -ge 1 ] || fail "it was to have too few: $private"
[ "$tries" -le $took ] || fail "$tries tries in $took seconds"
expect "lines in the log" 1 "$(grep -c "can't start a thread" "$LOG")"
expect_match "which limit" 'RLIMIT_MEMLOCK \(ulimit -l\)' "$(cat "$LOG")"
umount "$MNT"
