#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cluster/overlay and the kernel's overlayfs: random changes, renames of directories and hard links
# among them, have the same results as in a plain directory, and leave the lower alone; each mounts
# what the other has written, and shows the same. The lower has no hard links: of those the kernel's
# overlayfs makes several files. A view is a good lower of the kernel's overlayfs.
# builds: release debug
# longer
# timeout: 900
. "$(dirname "$0")/lib.sh"

need_root
need_command python3
grep -qw overlay /proc/filesystems || skip "needs the kernel's overlayfs"
program=$SOURCE_DIR/tests/mount/programs/change-trees.py
number=$(amount 100 5000)
KERNEL=$TEST_DIR/kernel
overlay_volfile

# begin SEED: a lower with random files, and a plain directory with the same.
begin () {
    rm -rf "$UPPER" "$BACK" plain "$KERNEL"
    mkdir -p "$UPPER/layers/0" "$UPPER/kernel-work" "$BACK" plain "$KERNEL"
    expect_ok python3 "$program" --no-links $((1000 + $1)) 150 "$BACK" plain
}

# All that ls and the bytes tell, times of changes included, but for times of reading.
manifest () {
    find "$1" -printf '%P %M %U %G %s %T@ %C@ %n %l\n' | sort
    find "$1" -type f -print0 | sort -z | xargs -0r sha256sum
}

mount_kernel () {
    mount -t overlay -o "lowerdir=$BACK,upperdir=$UPPER/layers/0,workdir=$UPPER/kernel-work" \
        -o redirect_dir=on,index=off,metacopy=off,volatile test "$KERNEL" ||
        skip "the kernel's overlayfs can't have its upper on the file system of $UPPER"
}

# expect_same A B
expect_same () {
    expect "the difference of $1 and $2" "" "$(diff -r --no-dereference "$1" "$2" 2>&1)"
}

# expect_numbers DIRECTORY: a listing tells the numbers that stat tells.
expect_numbers () {
    expect "numbers in listings that aren't those of stat" "" "$(python3 -c '
import os, sys
for where, _, _ in os.walk(sys.argv[1]):
    for entry in os.scandir(where):
        if entry.inode() != os.lstat(entry.path).st_ino:
            print(entry.path)' "$1")"
}

for seed in $(amount 1 "1 2 3"); do
    echo "written by windlass, seed $seed"
    begin $seed
    manifest "$BACK" >before
    mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
    expect_ok python3 "$program" $seed "$number" "$MNT" plain
    expect_numbers "$MNT"
    wait_until work_is_clean
    unmount
    expect "the lower afterwards" "$(cat before)" "$(manifest "$BACK")"
    mount_kernel
    expect_same "$KERNEL" plain
    umount "$KERNEL"

    echo "written by the kernel, seed $seed"
    begin $((seed + 10))
    mount_kernel
    expect_ok python3 "$program" $((seed + 10)) "$number" "$KERNEL" plain
    umount "$KERNEL"
    mount_volfile "$VOL"
    expect_same "$MNT" plain
    expect_numbers "$MNT"
    expect_ok python3 "$program" $((seed + 20)) 50 "$MNT" plain
    unmount
done

echo "a view below the kernel's overlayfs"
begin 30
ln -s target "$BACK/symbolic"
ln -s target plain/symbolic
mkdir kernel-upper kernel-work
mount_volfile "$VOL"
mount -t overlay -o "lowerdir=$MNT,upperdir=$TEST_DIR/kernel-upper,workdir=$TEST_DIR/kernel-work" \
    -o redirect_dir=on,index=off,metacopy=off,volatile test "$KERNEL" || fail "could not mount it"
mv "$KERNEL/symbolic" "$KERNEL/renamed"
mv plain/symbolic plain/renamed
expect_ok python3 "$program" 30 50 "$KERNEL" plain
expect_same "$KERNEL" plain
umount "$KERNEL"
unmount
