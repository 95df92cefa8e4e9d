#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A daemon with few descriptors serves many files, and where there are file handles also many open
# ones: it closes the descriptors of files that no process has open, opens the others for each
# request, and no caller gets EMFILE.
. "$(dirname "$0")/../lib.sh"

# Each thread of an io_uring has descriptors of its own, some 20 in all.
limit=64 spare=5
[ "$TEST_THROUGH" = device ] || limit=96 spare=20
(cd "$BACK" && mkdir dir && cd dir && seq -f 'file-%04g' 3000 | xargs touch && echo deep >file-1500)
for handles in auto descriptor; do
    POSIX_OPTIONS="handles=$handles" stack encryption/rot-13
    # The limit is inherited; the daemon may not raise it.
    ulimit -n 256
    (ulimit -n $limit && mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0) || exit 1
    DAEMON=$(cat pid)
    expect_match "the daemon's limit" "open files +$limit +$limit" "$(cat "/proc/$DAEMON/limits")"

    # 30 are open at once, others are listed and read meanwhile.
    for i in {10..39}; do
        eval "exec $((i + 10))<>'$MNT/dir/file-00$i'" || fail "can't open file $i"
    done
    expect "a listing with attributes" 3000 "$(ls -l "$MNT/dir" | grep -c '^-.* file-')"
    expect "what is read" qrrc "$(cat "$MNT/dir/file-1500")"
    expect "files by find" 3000 "$(find "$MNT/dir" -type f -size -2M | wc -l)"
    for i in {10..39}; do
        echo "$i" >&$((i + 10)) || fail "can't write to file $i"
    done
    for i in {10..39}; do
        eval "exec $((i + 10))>&-"
        expect "file $i" "$i" "$(cat "$BACK/dir/file-00$i")"
        : >"$BACK/dir/file-00$i"
    done

    # Without file handles there is an error above the limit, and it passes.
    if [ $handles = descriptor ]; then
        for i in {10..130}; do
            eval "exec $((i + 10))<'$MNT/dir/file-$(printf %04d $i)'"
        done 2>errors
        expect_match "the error" 'Too many open files in system' "$(cat errors)"
        expect "what the log says of it" 1 \
            "$(grep -c 'descriptors that the process may have .*ENFILE' "$LOG")"
        for i in {10..130}; do
            eval "exec $((i + 10))<&-"
        done
        wait_until "echo later >>'$MNT/dir/later' 2>/dev/null"
        expect "files afterwards" 3001 "$(ls "$MNT/dir" | wc -l)"
        rm "$MNT/dir/later"
    fi
    unmount
done

need_root
need_command python3

# A removed file that is open takes one descriptor. When these are used up, removing fails, and the
# failing requests do not wait one after the other.
stack
for files in few many; do
    (ulimit -n $limit && mount_volfile "$VOL") || exit 1
    DAEMON=$(cat pid)
    ls "$MNT" >/dev/null
    [ $files = many ] && files=150 ||
        files=$((limit * 7 / 8 - spare - $(ls "/proc/$DAEMON/fd" | wc -l)))
    said=$(python3 - "$MNT" $files <<'END'
import os, sys, time
paths = [os.path.join (sys.argv[1], f"removed-{i}") for i in range (int (sys.argv[2]))]
files = [open (path, "w+") for path in paths]
begin, removed = time.monotonic (), []
for path, file in zip (paths, files):
    try:
        os.unlink (path)
        removed.append (file)
    except OSError:
        pass
failed = len (files) - len (removed)
slowly = time.monotonic () - begin >= max (failed / 2, 1)
for file in removed:
    file.write (file.name)
    file.flush ()
    file.seek (0)
    if os.stat (file.fileno ()).st_nlink != 0 or file.read () != file.name:
        print ("wrong", file.name)
# Closed, one is still there for a descriptor that stands for it, and can be opened again.
kept = removed.pop (0)
path = os.open (f"/proc/self/fd/{kept.fileno ()}", os.O_PATH)
kept.close ()
removed.pop ().close ()
time.sleep (0.5)
with open (f"/proc/self/fd/{path}") as again:
    if os.stat (path).st_nlink != 0 or again.read () != kept.name:
        print ("it is gone")
print ("many fail" if failed > 50 else failed, "slowly" if slowly else "at once")
END
)
    [ "$said" = "0 at once" ] || [ "$said" = "many fail at once" -a $files = 150 ] ||
        fail "removing $files open files: $said"
    unmount
    rm -f "$BACK"/removed-* "$LOG"
done

# Each locker takes one as well, if storage has to know of the lock: some get none, and no other
# caller notices.
(ulimit -n $limit && mount_volfile "$VOL" --lock-forwarding=on) || exit 1
DAEMON=$(cat pid)
said=$(python3 - "$MNT" 100 <<'END'
import errno, fcntl, os, sys, time
path, pipes, failed = os.path.join (sys.argv[1], "locked"), [], 0
open (path, "w").close ()
for i in range (int (sys.argv[2])):
    (said, say), (wait, go) = os.pipe (), os.pipe ()
    if os.fork () == 0:
        file = open (path, "r+")
        try:
            fcntl.lockf (file, fcntl.LOCK_EX, 1, i)
            os.write (say, b"0")
        except OSError as error:
            os.write (say, b"1" if error.errno == errno.ENOLCK else b"2")
        os.close (go)
        os.read (wait, 1)
        os._exit (0)
    os.close (say)
    os.close (wait)
    pipes.append (go)
    answer = int (os.read (said, 1))
    os.close (said)
    failed += answer != 0
    if answer == 2:
        print ("another error than ENOLCK")
# The daemon hears of the last close of a file a moment after close(2), and until then that file has
# its descriptors.
def again (call):
    until = time.monotonic () + 10
    while True:
        try:
            return call ()
        except OSError as error:
            if error.errno != errno.ENFILE or time.monotonic () > until:
                raise
def write (name):
    with open (name, "w") as file:
        file.write (name)
for i in range (20):
    name = os.path.join (sys.argv[1], f"beside-{i}")
    again (lambda: write (name))
    again (lambda: os.unlink (name))
print ("some fail" if 0 < failed < 100 else failed)
END
)
expect "lockers, and files beside them" "some fail" "$said"
unmount

dumped () {
    sed -n "s/^$1 = //p" "$MNT/.meta/graphs/active/posix/private"
}

rm "$LOG"
# 200 open at once, and the kernel reads and writes them itself where it can.
stack
for PASSTHROUGH in off auto; do
    (ulimit -n $limit && mount_volfile "$VOL") || exit 1
    DAEMON=$(cat pid)
    [ "$(dumped handles)" = file-handle ] ||
        skip "needs a file system with file handles in $TEST_DIR"
    touch "$BACK"/open-{0000..0199}
    rm -f "$BACK"/open-*[13579]
    coproc python3 "$SOURCE_DIR/tests/mount/faults/many-open.py" "$MNT" "$BACK" 200
    holder=$COPROC_PID # the shell forgets it when that has ended
    said () {
        local line
        read -r -u "${COPROC[0]}" line || fail "many-open.py ended, passthrough $PASSTHROUGH"
        expect "what many-open.py said, passthrough $PASSTHROUGH" "$1" "$line"
    }
    said open
    [ "$(dumped open-without-descriptor)" -gt 100 ] ||
        fail "$(dumped open-without-descriptor) of 220 files are open without a descriptor"
    expect_match "what is said of a file" "descriptors run short \\($limit, RLIMIT_NOFILE\\)" \
        "$("$WINDLASS" explain "$MNT/open-0000")"
    echo >&"${COPROC[1]}"
    said held
    # The system tells of a close later than close(2) returns.
    used () { echo >&"${COPROC[1]}" && said held; }
    wait_until 'used && [ "$(dumped open-without-descriptor)" = 0 ]'
    [ "$(dumped opened-for-a-request)" -gt 0 ] || fail "no file was opened for a request"
    expect "what the log says of it" 1 \
        "$(grep -c 'so many files are open that descriptors run short' "$LOG")"
    expect_no_match "the log" 'ENFILE|EMFILE' "$(cat "$LOG")"
    eval "exec ${COPROC[1]}>&-"
    wait "$holder" || fail "many-open.py failed"
    unmount
    rm -f "$BACK"/open-* "$LOG"
done
