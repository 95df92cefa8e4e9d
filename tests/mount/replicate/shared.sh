#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A client of GlusterFS and this one on the same copies at once, each with random operations: both
# see the same files, and the copies are equal. Two faults of the bricks are kept out, or let pass:
# - a brick that makes a link while another client removes the file's last name may lose the file's
#   handle. So links are made of a file that keeps its first name.
# - a brick that is asked for a name while it makes that directory may fail to make it. Until this
#   is healed, GlusterFS's client answers EIO or ENOTCONN for what is there. This one must not.
# longer
. "$(dirname "$0")/lib.sh"
need_command glusterfs

bricks_begin
replicate_volfile
cp "$VOL" stock.vol
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
mkdir stock
glusterfs -f stock.vol --attribute-timeout=0 --entry-timeout=0 -l "$TEST_DIR/stock.log" \
    "$TEST_DIR/stock"
wait_until "mountpoint -q stock"

cat >shared.py <<'EOF2'
import errno, os, random, sys
root, n, seed, passes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
r = random.Random(seed)
# What another client's change may make of an operation.
meant = {errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR, errno.ESTALE}
meant |= {getattr(errno, name) for name in passes}
def name():
    return f"{root}/{r.choice(['', 'a/', 'b/'])}{r.choice('pqrstu')}"
def write():
    with open(name(), "r+b" if r.random() < .5 else "wb") as file:
        file.seek(r.randrange(20000))
        file.write(os.urandom(r.randrange(1, 9000)))
        if r.random() < .2: os.fsync(file.fileno())
def append():
    with open(name(), "ab") as file:
        file.write(b"line\n" * r.randrange(1, 50))
todo = [write, write, append, lambda: os.rename(name(), name()), lambda: os.unlink(name()),
        lambda: os.mkdir(f"{root}/{r.choice('ab')}"), lambda: os.link(f"{root}/kept", name()),
        lambda: os.chmod(name(), r.choice([0o600, 0o644])), lambda: os.truncate(name(), 5000),
        lambda: os.setxattr(name(), "user.x", os.urandom(5)), lambda: os.stat(name()),
        lambda: open(name(), "rb").read(), lambda: os.listdir(f"{root}/a"),
        lambda: os.symlink("a", name())]
done = 0
for i in range(n):
    try:
        r.choice(todo)()
        done += 1
    except OSError as error:
        if error.errno not in meant:
            raise
print(done)
EOF2

seed=${SEED:-$RANDOM}
amount=400
[ -z "${TEST_LONG-}" ] || amount=3000
echo "seed $seed"
echo kept >"$MNT/kept"
for round in 1 2; do
    python3 shared.py "$MNT" $amount $((seed + round)) >ours.out 2>ours.err &
    ours=$!
    python3 shared.py "$TEST_DIR/stock" $amount $((seed + 100 + round)) EIO ENOTCONN \
        >stock.out 2>stock.err ||
        fail "the stock client, seed $seed: $(tail -n 1 stock.err)"
    wait $ours || fail "this client, seed $seed: $(tail -n 1 ours.err)"
    for client in ours stock; do
        [ "$(cat $client.out)" -gt $((amount / 10)) ] ||
            fail "$client: only $(cat $client.out) of $amount operations succeeded"
    done
    heal_all
    expect_equal_copies "with seed $seed"
    expect "what both clients see" "$(cd stock && find . | sort | xargs stat -c '%n %F %a %s')" \
        "$(cd "$MNT" && find . | sort | xargs stat -c '%n %F %a %s')"
done
umount stock
unmount
