#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The locks of a mount are those of the bare directory: their owners, what ends them, which caller
# waits, and the error for a circle of waiters. With lock-forwarding they hold between the mount and
# the directory, too, and windlass inflight names the holder of the lock that a caller waits for.
# builds: tsan debug
# through: device
# timeout: 600
# longer
. "$(dirname "$0")/../lib.sh"
need_command python3
programs=$SOURCE_DIR/tests/mount/programs lock=$PROGRAMS/lock

# hold KIND TYPE FILE: another process keeps a lock until released.
hold () {
    rm -f wait holds
    mkfifo wait
    "$lock" "$1" "$2" wait "$3" <wait >holds &
    holder=$!
    exec 5>wait
    wait_until "grep -q got holds"
}
release () {
    exec 5>&-
    wait $holder
}
try () {
    "$lock" "$1" "$2" try "$3" </dev/null
}
waits () {
    wait_until '"$WINDLASS" inflight "$MNT" | grep -Eq "waits for: '"$1"'"'
}

# --- each process's locks, as in the bare directory ---

mkdir bare
waiters=$(amount 40 1000) calls=$(amount 2000 20000)
python3 "$programs/record-locks.py" bare $waiters >wanted ||
    fail "on the bare directory: $(tail -n 5 wanted)"
seed=$RANDOM
for volfile in $(amount "posix client-stack" "posix rot-13 client-stack"); do
    sed "s|/srv/export|$BACK|" "$SOURCE_DIR/volfiles/$volfile.vol" >"$VOL"
    for forwarding in off on; do
        what="$volfile.vol, lock-forwarding $forwarding"
        mount_volfile "$VOL" --lock-forwarding=$forwarding
        python3 "$programs/record-locks.py" "$MNT" $waiters >got || fail "$what: $(tail -n 5 got)"
        diff wanted got >differences ||
            fail "$what, the bare directory's and the mount's: $(head -n 20 differences)"
        python3 "$programs/random-locks.py" bare "$MNT" $seed $calls $([ $forwarding = off ] ||
            echo records) || fail "$what"
        unmount
    done
done

# --- forwarded, between the mount and the bare directory ---

stack encryption/rot-13
mount_volfile "$VOL" --lock-forwarding=on
echo text >"$MNT/file"
# The kernel gives the next open file the number of one just closed, and the daemon may see the new
# file's lock first.
python3 - "$MNT/file" <<'PY' || fail "an open file's locks can't be taken"
import fcntl, os, struct, sys
F_OFD_SETLK = 37
for i in range(3000):
    fd = os.open(sys.argv[1], os.O_RDWR)
    try:
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, i % 5, 1, 0)
        fcntl.fcntl(fd, F_OFD_SETLK, lock)
    except BlockingIOError:
        pass  # the file of before is released a moment later
    os.close(fd)
PY
wait_until '[ "$(try ofd write "$MNT/file")" = got ]' # all of them end with their files
for kind in fcntl ofd flock; do
    for sides in "$MNT $MNT" "$MNT $BACK" "$BACK $MNT"; do
        hold $kind write "${sides% *}/file"
        expect "$kind: a second one ($sides)" EAGAIN "$(try $kind read "${sides#* }/file")"
        release
        # Locks of a descriptor go with FUSE's release, which close() doesn't wait for.
        [ $kind = fcntl ] || wait_until "[ \$(try $kind write ${sides#* }/file) = got ]"
        [ $kind != fcntl ] ||
            expect "$kind: after its release ($sides)" got "$(try $kind write "${sides#* }/file")"
    done
    hold $kind read "$MNT/file"
    expect "$kind: two readers" got "$(try $kind read "$MNT/file")"
    expect "$kind: and a writer" EAGAIN "$(try $kind write "$MNT/file")"

    # It waits, until it is interrupted; or until the holder is killed.
    "$lock" $kind write wait "$MNT/file" </dev/null >interrupted &
    waiter=$!
    "$lock" $kind write wait "$MNT/file" </dev/null >waited &
    second=$!
    wait_until '[ "$("$WINDLASS" inflight "$MNT" | grep -c "waits for: a .*lock")" = 2 ]'
    kill -INT $waiter
    wait $waiter
    expect "$kind: interrupted" EINTR "$(cat interrupted)"
    expect "$kind: the other waits still" "" "$(cat waited)"
    kill -9 $holder
    wait $holder 2>/dev/null
    wait $second || fail "$kind: the second waiter failed"
    expect "$kind: after the holder died" got "$(cat waited)"
    exec 5>&-
done

# --- who holds what is waited for: a process, though a thread of it has locked ---

python3 -c 'import fcntl, threading, time, sys
f = open (sys.argv[1], "r+")
thread = threading.Thread (target = fcntl.lockf, args = (f, fcntl.LOCK_EX, 10, 5))
thread.start (); thread.join (); print ("has", flush = True); time.sleep (1000)' "$MNT/file" >has &
holder=$!
wait_until 'grep -q has has'
python3 -c 'import fcntl, sys; fcntl.lockf (open (sys.argv[1], "r+"), fcntl.LOCK_EX)' "$MNT/file" &
waiter=$!
waits "a record lock to write, bytes 0 to the end, which is held by python3 \\($holder\\)"
kill $holder $waiter
wait
flock "$BACK/file" sleep 1000 &
holder=$!
wait_until '! flock -n "$BACK/file" true'
flock "$MNT/file" true &
waits "a lock of the whole file \\(flock\\) to write, which is held by flock \\($holder\\)"
wait_until "pgrep -P $holder >/dev/null"
kill "$(pgrep -P $holder)"
wait
expect "in the end" "no request waits" "$("$WINDLASS" inflight "$MNT")"
unmount

# --- what they are for the conformance kit ---

as=user
[ "$(id -u)" != 0 ] || as=root
out=$("$WINDLASS" conform --mount --as "$as" --directory "$TEST_DIR" \
    --case "$(amount 'locks/[!af]*' 'locks/*')" "$VOL" -- --lock-forwarding=on) || fail "$out"
expect_match "the kit" '^[0-9]+ passed, 0 failed, 0 skipped, [0-9]+ differ by design$' "$out"

for mistake in flush-is-lost thread-is-named; do
    stack test/mislocks,mistake=$mistake
    out=$("$WINDLASS" conform --mount --as "$as" --directory "$TEST_DIR" \
        --case 'locks/record[ ,]*' "$VOL" -- --lock-forwarding=on) &&
        fail "the kit doesn't find that $mistake"
    case $mistake in
    flush-is-lost) expect_match "what the kit finds" \
        "FAIL locks/record, the parent closes and the child doesn't" "$out" ;;
    thread-is-named) expect_match "what the kit finds" 'FAIL locks/record of a thread' "$out" ;;
    esac
done

# --- through an io_uring: waiters leave the entries that an unlock needs ---

[ "$TEST_THROUGH" = io_uring ] || exit 0
mount_volfile "$VOL" --lock-forwarding=on --io-uring-queue-depth=8
cat >waiters.py <<'EOF'
import errno, fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.lockf(file, fcntl.LOCK_EX)
refused, held = os.pipe(), os.pipe()
children = []
for _ in range(12):
    child = os.fork()
    if child == 0:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX)
            os.write(held[1], b"x")
        except OSError as error:
            os.write(refused[1], b"x" if error.errno == errno.ENOLCK else b"?")
        os._exit(0)
    children.append(child)
print("refused:", b"".join(os.read(refused[0], 1) for _ in range(8)).decode())
fcntl.lockf(file, fcntl.LOCK_UN)
print("held:", b"".join(os.read(held[0], 1) for _ in range(4)).decode())
for child in children:
    os.waitpid(child, 0)
EOF
expect "12 waiters, of which a ring of 8 entries lets 4 wait" "refused: xxxxxxxx
held: xxxx" "$(timeout 60 python3 waiters.py "$MNT/file")"
unmount
