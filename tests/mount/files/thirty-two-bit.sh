#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# With enable-ino32 a 32-bit program lists a directory whose offsets or inode numbers have more bits
# than it has: it goes on after each entry, on other descriptors, and after a reload. A search
# for the place in a listing ends, whatever storage lists.
. "$(dirname "$0")/../lib.sh"
need_command gcc python3
need_root
# The program has neither a C library nor its headers, so it needs no packages for 32 bits.
gcc -m32 -O1 -ffreestanding -fno-builtin -fno-stack-protector -fno-pie -no-pie -nostdlib -static \
    -o list32 "$SOURCE_DIR/tests/mount/files/list32.c" 2>err || skip "needs gcc -m32: $(cat err)"
./list32 "$TEST_DIR" >out 2>&1 || skip "needs a kernel that runs 32-bit programs of x86: $(cat out)"

# ext4 has offsets of 63 bits. storage/posix gives files of a file system in it numbers of 63 bits.
offsets_are_large () {
    python3 - "$1" <<'END'
import ctypes, sys
libc = ctypes.CDLL (None)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
libc.readdir.argtypes = libc.telldir.argtypes = [ctypes.c_void_p]
stream = libc.opendir (sys.argv[1].encode ())
libc.readdir (stream)
sys.exit (libc.telldir (stream) < 1 << 31)
END
}
if ! offsets_are_large "$BACK"; then
    need_command mkfs.ext4
    truncate -s 20M disk
    mkfs.ext4 -q disk 2>err && mount -o loop disk "$BACK" 2>err && offsets_are_large "$BACK" ||
        skip "needs ext4: $(cat err)"
fi
stack
mkdir "$BACK/many" "$BACK/inner"
touch "$BACK"/many/{1..300}
mount -t tmpfs none "$BACK/inner"
touch "$BACK/inner/file"
names=$(ls -a "$BACK/many" | LC_ALL=C sort)
mount_volfile "$VOL"
ls -f "$MNT/many" >order
./list32 "$MNT/many" >out && fail "32-bit programs have room for these numbers, so nothing is shown"
expect_match "why" 'error 75$' "$(cat out)"
./list32 "$MNT/inner" >out && fail "storage/posix gives short numbers to an inner file system"
expect_match "why" 'error 75$' "$(cat out)"
unmount

listed () {
    sed '/^again$/,$d; s/^[0-9]* //' "$1"
}
for options in --use-readdirp=no --exclusive; do
    mount_volfile "$VOL" --enable-ino32 $options
    ./list32 "$MNT/many" >out || fail "it cannot be listed: $(tail -n 1 out)"
    expect "the names" "$names" "$(listed out | LC_ALL=C sort)"
    expect "the order" "$(cat order)" "$(listed out)"
    expect "the oldest call" "$(sed '/^again$/,$d' out)" "$(sed '1,/^again$/d' out)"
    # Each offset leads to the entry after its own.
    while read -r offset _ && read -r next <&3; do
        expect "offset $offset" "$next" "$(./list32 "$MNT/many" "$offset")"
    done < <(sed '/^again$/,$d' out) 3< <(listed out | tail -n +2; echo "(end)")
    [ $options != --exclusive ] || break
    unmount
    cp out before
done

# With the key of one mount, another has other offsets.
unmount
mount_volfile "$VOL" --enable-ino32
./list32 "$MNT/many" >before || fail "it cannot be listed: $(tail -n 1 before)"
! cmp -s before out || fail "two mounts have the same offsets"
expect "an offset of no entry" "getdents64: error 2" "$(./list32 "$MNT/many" 1234567890)"

# A reload to another graph.
stack performance/readdir-ahead
expect_ok "$WINDLASS" reload "$MNT"
expect "after a reload" "$(listed before | sed -n 151p)" \
    "$(./list32 "$MNT/many" "$(sed -n '150s/ .*//p' before)")"

# A file has one number, by whichever request.
./list32 "$MNT/inner" >out || fail "numbers of the inner file system: $(cat out)"
number=$(stat -c %i "$MNT/inner/file")
[ "$number" -lt $((1 << 32)) ] || fail "number $number"
expect "in a listing" "$number" \
    "$(python3 -c 'import os, sys; print (next (os.scandir (sys.argv[1])).inode ())' "$MNT/inner")"
expect "of the directory" "$(stat -c %i "$BACK/many")" "$(stat -c %i "$MNT/many")"
unmount

requests () {
    "$WINDLASS" counts "$MNT" | sed -n 's/^requests=//p'
}

# Storage that repeats an answer, and storage that repeats two.
for storage in batches=1 batches=2,entries=8192; do
    stack "test/endless,$storage"
    mount_volfile "$VOL" --enable-ino32 --use-readdirp=no
    for _ in 1 2; do
        expect "$storage" "getdents64: error 5" "$(./list32 "$MNT" 1234567890)"
    done
    expect "warnings" 1 "$(grep -c "storage's listing of '/' .* EIO" "$LOG")"
    unmount
    mv "$LOG" "$LOG.$storage"
done
expect_match "the repeated answer" 'does not advance' "$(cat "$LOG.batches=1")"
expect_match "two" 'has no end' "$(cat "$LOG.batches=2,entries=8192")"

# Callers that are killed end their searches.
stack test/endless,batches=2
mount_volfile "$VOL" --enable-ino32 --use-readdirp=no
callers=()
for _ in 1 2 3 4; do
    ./list32 "$MNT" 1234567890 >>killed &
    callers+=($!)
done
wait_until '[ "$(requests)" -ge 1 ]'
kill -9 "${callers[@]}"
wait_until 20 '[ "$(requests)" = 0 ]'
expect "answers" "" "$(cat killed)"
unmount

# Storage that lists nothing but the name of .meta, for ever, which is not shown; without the option.
stack test/endless,name=.meta
mount_volfile "$VOL" --use-readdirp=no
expect_error 'Input/output error' ls "$MNT"
unmount
