#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cluster/replicate keeps equal copies on three bricks of GlusterFS, and leaves no marks.
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile
mount_volfile "$VOL"

cd "$MNT" || fail "no mount"
echo hello >file
mkdir -p directory/deeper
seq 1 20000 >directory/numbers
ln -s ../file directory/deeper/link
ln file directory/hard
mkfifo directory/fifo
chmod 640 file
chown 12:34 directory
setfattr -n user.colour -v red file
truncate -s 5000 directory/numbers
echo more >>directory/numbers
mv file directory/renamed
cp directory/numbers directory/copy
rm directory/copy
mkdir removed && rmdir removed
dd if=/dev/urandom of=random bs=64K count=40 conv=fsync status=none
dd if=/dev/urandom of=random bs=4K seek=11 count=3 conv=notrunc status=none
fallocate -l 1M allocated
: >emptied; echo x >emptied; : >emptied

expect "a directory" "copy_was_removed deeper fifo hard numbers renamed" \
    "copy_was_removed $(ls directory | paste -sd' ')"
expect "a file" hello "$(cat directory/renamed)"
expect "an attribute" red "$(getfattr --only-values -n user.colour directory/renamed)"
expect "a link" ../file "$(readlink directory/deeper/link)"
expect "a mode" 640 "$(stat -c %a directory/hard)"
expect "links of a file" 2 "$(stat -c %h directory/hard)"
cd "$TEST_DIR" || fail "no folder"
wait_until no_marks
expect_equal_copies
expect "what the mount reads" "$(sha256sum <"$TEST_DIR/c1.d/random")" "$(sha256sum <"$MNT/random")"

python3 - "$MNT" <<'EOF2'
import fcntl, os, sys
file = os.open(sys.argv[1] + "/locked", os.O_RDWR | os.O_CREAT)
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 100)
os.write(file, b"x")
os.fsync(file)
fcntl.lockf(file, fcntl.LOCK_UN, 10, 100)
os.unlink(sys.argv[1] + "/locked")
os.write(file, b"unlinked")
assert os.pread(file, 100, 0) == b"xunlinked"
os.close(file)
EOF2
wait_until no_marks
expect_equal_copies
expect_match "what explain says" '3 copies; there: c0, c1, c2' \
    "$("$WINDLASS" explain "$MNT/random")"

# What was made on the bricks themselves gets a gfid, one on all copies; a brick gives it to nothing
# that is younger than a second.
for name in "${BRICKS[@]}"; do
    mkdir "$TEST_DIR/$name.d/strange"
done
wait_until "stat '$MNT/strange' >/dev/null 2>&1"
touch "$MNT/strange/new"
expect "gfids" 1 "$(getfattr --absolute-names -e hex -n trusted.gfid "$TEST_DIR"/c?.d/strange |
    grep '^trusted' | sort -u | wc -l)"
expect_equal_copies
unmount
