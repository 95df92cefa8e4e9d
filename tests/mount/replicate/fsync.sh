#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cluster/replicate has the bricks write a file to their disks before it takes the mark "dirty" away
# only if bytes of it were overwritten: a copy that loses an append is shorter than the others, and
# that tells. Bricks may do writes that are on their way at once in any order.
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile post-op-delay-secs=1
printf 'volume wb\n type performance/write-behind\n subvolumes r\nend-volume\n' >>"$VOL"
# The kernel asks for capabilities before each write; md-cache knows that there are none.
printf 'volume md\n type performance/md-cache\n option md-cache-timeout 600\n subvolumes wb\nend-volume\n' >>"$VOL"
mount_volfile "$VOL"
echo 1 >"$MNT/.meta/measure_latency"

fsyncs () { # that the first brick was asked for
    sed -n 's/^c0\.latency\.FSYNC = .*CNT:\([0-9]*\) .*/\1/p' \
        "$MNT/.meta/graphs/active/c0/profile"
}

# Each time, the bricks find four writes to a file at once.
python3 - "$MNT" "$TEST_DIR" "${BRICK_PID[@]}" <<'PYTHON' || fail "could not append"
import glob, os, signal, sys, time
mount, folder, *bricks = sys.argv[1:]
files = [(open(f"{mount}/7", "wb", 0), 16 << 10), (open(f"{mount}/8", "wb", 0), 128 << 10)]
for file, size in files:
    file.write(bytes(size))
for _ in range(10):
    for brick in bricks:
        os.kill(int(brick), signal.SIGSTOP)
    for file, size in files * 4:
        file.write(bytes(size))
    for brick in bricks:
        os.kill(int(brick), signal.SIGCONT)
    for file, _ in files: # else the bytes on their way could be too many
        for copy in glob.glob(f"{folder}/c?.d/{os.path.basename(file.name)}"):
            while os.path.getsize(copy) < file.tell():
                time.sleep(.001)
PYTHON
wait_until no_marks
expect "fsyncs after appends" "" "$(fsyncs)"

dd if=/dev/urandom of="$MNT/7" bs=128K count=1 conv=notrunc status=none
wait_until no_marks
expect "fsyncs after a file was overwritten" 1 "$(fsyncs)"

# Half of what is written is new. It is one write, since the time between two may be longer than the
# delay of the post-op.
dd if=/dev/urandom of="$MNT/8" bs=128K count=1 conv=notrunc oflag=seek_bytes \
    seek=$(($(stat -c %s "$MNT/8") - 65536)) status=none
wait_until no_marks
expect "fsyncs after its end was overwritten" 2 "$(fsyncs)"
expect_equal_copies
unmount
