#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Bricks die one after the other under a load that never stops, and each is healed under it: no
# caller sees an error, and in the end all copies are equal.
# builds: release debug tsan
# long
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile
mount_volfile "$VOL"

cat >busy.py <<'EOF2'
import os, random, sys, time
root, stop, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
r = random.Random(seed)
handles = [os.open(f"{root}/o{i}", os.O_RDWR | os.O_CREAT) for i in range(4)]
content = [bytearray() for _ in handles]
n = 0
while not os.path.exists(stop):
    i = r.randrange(len(handles))
    at, piece = r.randrange(300000), os.urandom(r.randrange(1, 20000))
    assert os.pwrite(handles[i], piece, at) == len(piece)
    content[i].extend(bytes(max(0, at + len(piece) - len(content[i]))))
    content[i][at:at + len(piece)] = piece
    at = r.randrange(300000)
    read = os.pread(handles[i], 5000, at)
    assert read == content[i][at:at + 5000], f"a read of o{i} at {at} is old"
    if n % 20 == 0:
        name = f"{root}/n{r.randrange(10)}"
        with open(name, "wb") as file: file.write(piece)
        os.chmod(name, 0o600 + r.randrange(8) * 8)
    if n % 33 == 0:
        os.rename(name, f"{root}/n{r.randrange(10)}")
    n += 1
print(n)
EOF2

python3 busy.py "$MNT" "$TEST_DIR/stop" "${SEED:-$RANDOM}" >busy.out 2>busy.err &
busy=$!
wait_until "[ -e '$MNT/n1' ]"
for brick in c1 c0 c2; do
    brick_kill $brick
    wait_until "marks | grep -q 'afr.$brick'"
    brick_start $brick
    wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
    heal_all 'afr.[^d]' # "dirty" is also of changes under way
    is_running $busy || fail "a caller saw an error: $(tail -n 1 busy.err)"
done
touch stop
wait $busy || fail "a caller saw an error: $(tail -n 1 busy.err)"
echo "$(cat busy.out) rounds"
heal_all
wait_until no_marks
expect_equal_copies
unmount
