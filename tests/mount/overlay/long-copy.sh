#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A reload beside copies of the lower's files that take long: it waits for none of them, each goes
# on where it was, and whoever changes the file afterwards waits for the same copy.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3
MIB=16

# Each MiB that is copied hangs until a hold begins.
make_volfile () { # TOP...: the types over the overlay
    layered "stored=$UPPER" "lower=$BACK" | sed '/volume overlay/,$d'
    printf 'volume changes\n    type debug/fault\n    subvolumes stored\nend-volume\n'
    printf 'volume overlay\n    type cluster/overlay\n    subvolumes changes lower\nend-volume\n'
    local below=overlay type
    for type; do
        printf 'volume %s\n    type %s\n    subvolumes %s\nend-volume\n' "${type#*/}" "$type" $below
        below=${type#*/}
    done
}
hang () {
    echo 'writev size 1048576 -> hang' >rules
    expect_ok "$WINDLASS" fault --volume=changes "$MNT" rules
}
copies () { # NUMBER: whether so many are under way
    [ "$("$WINDLASS" jobs list "$MNT" | grep -c ": copy '/.*' in 'overlay'")" = "$1" ]
}
copied () { [ -e "$UPPER/layers/0/$1" ]; }

cat >change.py <<'EOF_PY'
import os, sys
with open(sys.argv[1], 'r+b', buffering=0) as file:
    os.pwrite(file.fileno(), sys.argv[3].encode(), int(sys.argv[2]))
    os.fsync(file.fileno())
    text = os.pread(file.fileno(), 100, 0)
print(text[int(sys.argv[2]):][:len(sys.argv[3])].decode())
EOF_PY

mkdir -p "$UPPER" "$BACK"
head -c ${MIB}M /dev/zero | tr '\0' a >"$BACK/written"
cp "$BACK/written" "$BACK/chmodded"
cp "$BACK/written" "$BACK/given-up"
cp -a "$BACK" before

# moves_beside TOP...: the mount moves to that graph while three copies are made. Each try to hold
# requests lets each of them copy one MiB.
moves_beside () {
    local written chmodded given_up second said
    hang
    python3 change.py "$MNT/written" 0 first >first &
    written=$!
    chmod 640 "$MNT/chmodded" &
    chmodded=$!
    python3 change.py "$MNT/given-up" 0 never >never 2>&1 &
    given_up=$!
    wait_until 'copies 3'
    make_volfile "$@" >"$VOL"
    said=$("$WINDLASS" reload "$MNT")
    expect_match "a reload" "^the mount has moved to its new graph" "$said"
    expect_match "the files, one of which is not open" "^3 files stay with the old graph" "$said"
    wait_until '"$WINDLASS" jobs list "$MNT" | grep -q "written.*, [1-9][0-9]* of .* bytes; works"'
    copied written && fail "the copy is over"
    if [ "$1" = debug/trace ]; then # performance/write-behind has readers wait for a write
        expect "bytes meanwhile" aaaa "$(tail -c 4 "$MNT/written")"
    fi
    python3 change.py "$MNT/written" 10 second >second &
    second=$!
    kill -9 $given_up
    expect_ok "$WINDLASS" fault --volume=changes "$MNT" --clear
    wait $written $chmodded $second || fail "a change failed"
    expect "the first change" first "$(cat first)"
    expect "the second change" second "$(cat second)"
    expect "the file" firstaaaaasecondaaaa "$(head -c 20 "$MNT/written")"
    expect "the mode" 640 "$(stat -c %a "$MNT/chmodded")"
    wait_until work_is_clean
    if [ "$1" = debug/trace ]; then # the program's write is under way until it is answered
        copied given-up && fail "a copy was made for nobody"
    else
        expect "a write that was answered" never "$(head -c 5 "$MNT/given-up")"
    fi
    wait_until 'grep -q "it has ended" "$LOG"'
    expect "jobs" "" "$("$WINDLASS" jobs list "$MNT")"
    diff -r before "$BACK" || fail "the lower has changed"
}

make_volfile >"$VOL"
mount_volfile "$VOL"
moves_beside debug/trace
unmount
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"

rm -r "$UPPER"
mkdir "$UPPER"
: >"$LOG"
make_volfile performance/write-behind >"$VOL"
mount_volfile "$VOL"
moves_beside performance/write-behind debug/trace
unmount
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"

# Two reloads beside one copy: all requests about the file go to the graph that copies it, also
# those of a file that was opened in it, and of one that is opened now.
cat >twice.py <<'EOF_PY'
import os, sys, threading
path = sys.argv[1]
def write ():
    os.pwrite(first, b'first', 0)
    os.fsync(first)
first = os.open(path, os.O_RDWR)
writer = threading.Thread(target=write)
writer.start()
sys.stdin.readline()
second = os.open(path, os.O_RDWR)
print('opened', flush=True)
writer.join()
os.ftruncate(first, 1 << 20)
os.fchmod(first, 0o600)
os.pwrite(second, b'second', 10)
os.fsync(second)
print(os.pread(first, 20, 0).decode(), os.fstat(first).st_size, oct(os.stat(path).st_mode & 0o777))
EOF_PY
rm -r "$UPPER"
mkdir "$UPPER"
: >"$LOG"
make_volfile >"$VOL"
mount_volfile "$VOL"
hang
mkfifo steps
python3 twice.py "$MNT/written" <steps >twice 2>&1 &
program=$!
exec 7>steps
wait_until 'copies 1'
make_volfile debug/trace >"$VOL"
expect_match "a reload" "^the mount has moved to its new graph" "$("$WINDLASS" reload "$MNT")"
make_volfile performance/io-cache debug/trace >"$VOL"
expect_match "a second reload" "^the mount has moved to its new graph" \
    "$("$WINDLASS" reload "$MNT")"
copied written && fail "the copy is over"
echo >&7
wait_until 'grep -q opened twice'
expect_ok "$WINDLASS" fault --volume=changes "$MNT" --clear
wait $program || fail "the program failed: $(cat twice)"
expect "what the program has seen" "firstaaaaasecondaaaa 1048576 0o600" "$(tail -n 1 twice)"
exec 7>&-
wait_until 'grep -q "it has ended" "$LOG"'
expect "jobs" "" "$("$WINDLASS" jobs list "$MNT")"
unmount
expect "old graphs with files" 1 "$(grep -c 'it has ended' "$LOG")"
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
