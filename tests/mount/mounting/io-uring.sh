#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mount whose requests come through io_uring: data that was written is read back, also by
# translators that keep it; a request that waits or blocks keeps no other from being served; the
# mount can be interrupted, reloaded, stopped and killed at any time.
# builds: release debug tsan
# through: io_uring
. "$(dirname "$0")/../lib.sh"
need_command git sqlite3 tar flock taskset python3
need_io_uring

# first COMMAND...: on one processor, so with one queue.
first () {
    taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$@"
}

# --- without it ---

stack encryption/rot-13
mount_volfile "$VOL" --io-uring=off
expect_match "off" "are read from the device.*option 'io-uring' is off" \
    "$("$WINDLASS" explain "$MNT")"
unmount
expect_error "option 'io-uring' must be auto, off or required|'io-uring'.*'never'" "$WINDLASS" \
    -f "$VOL" --io-uring=never "$MNT"

# The switch is off: of a mount namespace, as the machine's own is everybody's.
if [ "$(id -u)" = 0 ]; then
    echo N >switch
    # shellcheck disable=SC2016 # the inner shell expands them
    in_switched_off='mount --bind switch /sys/module/fuse/parameters/enable_uring && shift && "$@"'
    expect_error \
        "option 'io-uring' is required, but not to be had: the kernel's switch is off: as root, 'echo Y > /sys/module/fuse" \
        unshare -m sh -c "$in_switched_off" sh - "$WINDLASS" -f "$VOL" -l "$LOG" \
        --io-uring=required "$MNT"
    ! is_mounted || fail "it is mounted all the same"
    expect_ok unshare -m --propagation slave \
        sh -c "$in_switched_off"' && grep -q fuse /proc/self/mountinfo && umount "$0"' \
        "$MNT" - "$WINDLASS" -f "$VOL" -l "$LOG" "$MNT"
    expect_match "one line says how" \
        "no io_uring: the kernel's switch is off: as root, 'echo Y > " "$(cat "$LOG")"
fi

# The kernel's setting denies io_uring; here by injection, as the machine's own is everybody's.
if [ "$(id -u)" = 0 ] && command -v strace >/dev/null; then
    refused_by () { # SETTING
        echo "$1" >setting
        unshare -m sh -c 'mount --bind setting /proc/sys/kernel/io_uring_disabled && exec "$@"' - \
            strace -f -o /dev/null -e inject=io_uring_setup:error=EPERM \
            "$WINDLASS" -N -f "$VOL" -l "$LOG" --io-uring=required "$MNT" 2>&1
    }
    expect_match "for nobody" "not to be had: the kernel's setting kernel.io_uring_disabled is 2 \
.for nobody.: as root, 'sysctl kernel.io_uring_disabled=0' allows it" "$(refused_by 2)"
    expect_match "for root" "io_uring_disabled is 1 .only for root" "$(refused_by 1)"
    expect_match "a filter" "not to be had: .* probably by a filter of system calls" \
        "$(refused_by 0)"
fi

# --- the threads that take requests run before others, as far as this process may set that -------

nice_of () { # NAMES: of the daemon's threads that are called so
    awk -v names="^[(]$1[)]$" '$2 ~ names { print $19 }' /proc/"$DAEMON"/task/*/stat | sort -u
}
stack
for haste in 0 7; do
    mount_volfile "$VOL" --io-uring=required --io-uring-haste=$haste
    echo text >"$MNT/file"
    wanted=$(nice -n -$haste nice 2>/dev/null)
    # One that has just begun has its maker's name for a moment.
    wait_until '[ "$(nice_of "fuse-ring-.*")" = "$wanted" ]'
    unmount
done

# --- life, with translators that answer later, on other threads, and keep what is written ---

stack encryption/rot-13 performance/io-threads performance/write-behind
mount_volfile "$VOL" --io-uring=required
expect_match "on" 'requests come through io_uring: a queue for each of [0-9]+ processors' \
    "$("$WINDLASS" explain "$MNT")"
expect_match "what is told of it" '^io_uring = on$' "$(cat "$MNT"/.meta/*/private)"
export HOME=$TEST_DIR
git -c init.defaultBranch=main init -q "$MNT/repo" && cp -r "$SOURCE_DIR/src/fuse" "$MNT/repo" ||
    fail "copies"
(cd "$MNT/repo" && git add . && git -c user.name=n -c user.email=e commit -qm all &&
    git fsck --strict && git status --porcelain) \
    >git.log 2>&1 || fail "git: $(cat git.log)"
diff -r "$SOURCE_DIR/src/fuse" "$MNT/repo/fuse" || fail "what was copied differs"
tar -C "$SOURCE_DIR/src" -cf - core | tar -C "$MNT" -xf - || fail "tar"
diff -r "$SOURCE_DIR/src/core" "$MNT/core" || fail "what was unpacked differs"
sqlite3 "$MNT/db" \
    'create table t (n);
    with recursive c (n) as (select 1 union all select n + 1 from c where n < 2000)
    insert into t select n from c; delete from t where n % 3 = 0; vacuum;' || fail "sqlite"
expect "sqlite's own opinion" "ok|1334" \
    "$(sqlite3 -separator '|' "$MNT/db" \
    "select (select * from pragma_integrity_check), count (*) from t")"

# Large writes from many processes at once, answered before they are written: each byte arrives at
# its place.
python3 - "$MNT" <<'END' || fail "bytes of large writes"
import os, sys, threading
def work (number):
    path = f"{sys.argv[1]}/large{number}"
    blocks = [os.urandom (1 << n) for n in (12, 16, 17, 18, 20, 20)]
    fd = os.open (path, os.O_RDWR | os.O_CREAT)
    for block in blocks:
        assert os.write (fd, block) == len (block)
    os.close (fd)
    with open (path, "rb") as file:
        assert file.read () == b"".join (blocks), path
threads = [threading.Thread (target=work, args=(n,)) for n in range (4)]
failed = []
threading.excepthook = lambda args: failed.append (args)
for thread in threads: thread.start ()
for thread in threads: thread.join ()
sys.exit (len (failed))
END

# Reloaded, and stopped, in the midst of it.
tar -C "$SOURCE_DIR/src" -cf core.tar core
(cd "$MNT" && while tar -xf "$TEST_DIR/core.tar"; do :; done) >/dev/null 2>&1 &
expect_ok "$WINDLASS" reload "$MNT"
wait_until '[ -e "$MNT/core/xlator.h" ] || [ -e "$MNT/core/time/timer.h" ]'
kill -TERM "$DAEMON"
wait_until "! is_running $DAEMON"
! is_mounted || fail "it is mounted after its end"
wait

# --- blocked in storage, and killed ---

below=$TEST_DIR/below lower=$TEST_DIR/lower
mkdir "$below" "$lower"
for i in 1 2 3 quick; do echo $i >"$below/file$i"; done
printf 'volume p\n type storage/posix\n option directory "%s"\nend-volume
volume f\n type debug/fault\n subvolumes p\nend-volume\n' \
    "$below" >lower.vol
"$WINDLASS" -f lower.vol -l lower.log -p lower.pid "$lower" || fail "the lower mount"
BACK=$lower stack encryption/rot-13
mount_volfile "$VOL" --io-uring=required
cat "$MNT"/file* >/dev/null
printf 'open path "/file[1-3]" -> hang\n' >rules
expect_ok "$WINDLASS" fault "$lower" rules
for i in 1 2 3; do first cat "$MNT/file$i" >/dev/null 2>&1 & done
wait_until '[ "$("$WINDLASS" inflight "$MNT" | grep -c "^request.* open")" = 3 ]'
expect "one that isn't blocked, of the same processor" 1 \
    "$(first timeout 10 cat "$MNT/filequick" | wc -l)"
expect_ok "$WINDLASS" fault "$lower" --clear
wait
(cd "$MNT" && while cat file*; do :; done) >/dev/null 2>&1 &
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
DAEMON=''
wait_until 'stat "$MNT/file1" 2>&1 | grep -q "not connected"'
umount -l "$MNT"
wait
mount_volfile "$VOL" --io-uring=required
expect "after that" 3 "$(cat "$MNT"/file[1-3] | wc -l)"
unmount
lower_daemon=$(cat lower.pid) # it takes the file away
kill "$lower_daemon"
wait_until "! is_running $lower_daemon"
expect_no_match "what was logged" 'refused|Assertion|CRITICAL' "$(cat "$LOG")"
