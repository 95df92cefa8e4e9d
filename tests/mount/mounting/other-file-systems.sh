#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Other file systems below the directory: the mount is one device, and in it an inode number names
# one file, though the file systems number theirs alike. Listings agree with stat; the number of a
# file is the same in each mount, and when its file system was mounted again; files of the
# directory's own have storage's numbers. A file system that comes or goes is noticed.
. "$(dirname "$0")/../lib.sh"
need_root
need_command tar

# Two names of one file in each, and a directory, all with the numbers that the other has too.
fill () { # FOLDER
    mkdir "$1/dir"
    echo "text of ${1##*/}" >"$1/dir/f"
    ln "$1/dir/f" "$1/dir/link"
}
number () {
    stat -c %i "$1"
}
mount_tmpfs () {
    mkdir -p "$1"
    mount -t tmpfs tests "$1" || fail "could not mount on $1"
}

cat >check.py <<'EOF_PY'
import os, sys

def listing(path):
    return {entry.name: entry.inode() for entry in os.scandir(path)}

top, back = sys.argv[1:]
files = {}
for path, names, others in os.walk(top):
    below = os.path.join(back, os.path.relpath(path, top))
    listed, there = listing(path), listing(below)
    for name in names + others:
        one = os.path.join(path, name)
        st, behind = os.lstat(one), os.lstat(os.path.join(below, name))
        if behind.st_dev == os.stat(back).st_dev:
            assert st.st_ino == behind.st_ino, f"{one} has not storage's number"
        else:
            assert 1 << 48 <= st.st_ino < 1 << 63, f"{one}: {st.st_ino}"
        key = behind.st_dev, behind.st_ino
        assert files.setdefault(st.st_ino, key) == key, f"{one} has the number of another file"
        if there[name] == behind.st_ino and behind.st_dev == os.stat(below).st_dev:
            assert listed[name] == st.st_ino, f"{one}: listing and stat differ"
print(len(files))
EOF_PY

# Also what programs that tell files by their numbers make of it.
check () {
    expect "different files" "$(find "$BACK" -mindepth 1 -printf '%D %i\n' | sort -u | wc -l)" \
        "$(python3 check.py "$MNT" "$BACK" 2>&1 | tail -n 1)"
    rm -rf copy tar
    cp -a "$MNT/." copy 2>err || fail "cp: $(cat err)"
    expect_ok diff -r "$BACK" copy
    mkdir tar
    tar -cf - -C "$MNT" . 2>err | tar -xf - -C tar || fail "tar: $(cat err)"
    [ ! -s err ] || fail "tar said: $(cat err)"
    expect_ok diff -r "$BACK" tar
    expect "find" "$(cd "$BACK" && find . | sort)" "$(cd "$MNT" && find . 2>&1 | sort)"
    expect "what du says" "" "$(du -s "$MNT" 2>&1 >/dev/null)"
}

fill "$BACK"
for name in a b; do
    mount_tmpfs "$BACK/$name"
    fill "$BACK/$name"
done
expect "the numbers behind" "$(number "$BACK/a/dir/f")" "$(number "$BACK/b/dir/f")"
stack
mount_volfile "$VOL"
check
for name in a b; do
    expect "links of $name" "$(number "$MNT/$name/dir/f")" "$(number "$MNT/$name/dir/link")"
    expect "size of $name's file system" "$(stat -f -c '%b %S' "$BACK/$name")" \
        "$(stat -f -c '%b %S' "$MNT/$name/dir/f")"
done
expect "the directory's own file" "$(number "$BACK/dir/f")" "$(number "$MNT/dir/f")"
expect_match "explain" "another file system .* there is $(number "$BACK/a/dir/f"), here $(
    number "$MNT/a/dir/f")$" "$("$WINDLASS" explain "$MNT/a/dir/f")"

# One more, of the same numbers, on a directory that is known; one that goes, and its number's next.
before=$(number "$MNT/a/dir/f")
mkdir "$BACK/c"
covered=$(number "$MNT/c")
ls -lR "$MNT" >/dev/null
mount_tmpfs "$BACK/c"
fill "$BACK/c"
wait_until "! ls -li '$MNT' | grep -q '^ *$covered '"
check
umount -l "$BACK/b"
wait_until "! [ -e '$MNT/b/dir' ]"
check
mount_tmpfs "$BACK/b"
fill "$BACK/b"
wait_until "[ -e '$MNT/b/dir' ]"
check
expect "a file of the others, meanwhile" "$before" "$(number "$MNT/a/dir/f")"
unmount

PASSTHROUGH=auto
mount_volfile "$VOL" --use-readdirp=no
expect "a file in the next mount" "$before" "$(number "$MNT/a/dir/f")"
check
unmount

# File systems whose numbers are large, or whose files have several devices: a mount of ours that
# has such file systems below it, and overlayfs of several.
mkdir "$TEST_DIR"/outer "$TEST_DIR"/outer/{inner,overlay,xino}
fill "$TEST_DIR/outer"
inner=$BACK BACK=$TEST_DIR/outer
"$WINDLASS" -f "$VOL" -l inner.log --io-uring=off "$BACK/inner" || fail "the inner mount failed"
for kind in overlay=off xino=on; do
    mount_tmpfs "upper-${kind%=*}"
    mkdir "upper-${kind%=*}"/{upper,work}
    mount -t overlay -o "lowerdir=$inner/a:$inner/b,upperdir=upper-${kind%=*}/upper" \
        -o "workdir=upper-${kind%=*}/work,xino=${kind#*=}" tests "$BACK/${kind%=*}" 2>err ||
        fail "overlayfs: $(cat err)"
    fill "$BACK/${kind%=*}/dir"
done
stack
mount_volfile "$VOL"
check
[ $(($(number "$MNT/inner/a/dir/f") >> 62)) = 1 ] || fail "a large number was not replaced"
unmount
umount "$BACK"/* upper-* 2>/dev/null
BACK=$inner
umount "$BACK/a" "$BACK/b" "$BACK/c"
rmdir "$BACK"/[abc]
stack

# Disks. The numbers come from what is on them, so they are the same in each mount, in whichever
# order the disks come; copies of a disk are told apart all the same.
make_disk () { # TYPE NAME
    command -v "mkfs.$1" >/dev/null || return 1
    truncate -s 310M "$2.disk"
    "mkfs.$1" -q "$2.disk" 2>err || fail "mkfs.$1: $(cat err)"
    mount_disk "$2" || return 1
    fill "$BACK/$2"
}
mount_disk () { # NAME [OPTION]
    mkdir -p "$BACK/$1"
    mount -o "loop${2:+,$2}" "$1.disk" "$BACK/$1" 2>err
}
numbers () {
    find "$MNT" -xdev -printf '%i %P\n' | sort -k 2
}

disks=()
for type in ext4 xfs btrfs; do
    for name in "$type-1" "$type-2"; do
        if make_disk $type "$name"; then
            disks+=("$name")
        else
            rmdir "$BACK/$name" 2>/dev/null
            rm -f "$name.disk"
            skipped+=" $type"
            break
        fi
    done
done
[ ${#disks[@]} -gt 0 ] || skip "passed, but disks: needs mkfs.ext4 and loop devices"
if [ -d "$BACK/btrfs-1" ] && command -v btrfs >/dev/null; then
    expect_ok btrfs subvolume create "$BACK/btrfs-1/subvolume"
    fill "$BACK/btrfs-1/subvolume"
fi
# A file that is mounted by itself, from a file system that has its UUID asked through directories.
if [ -d "$BACK/xfs-1" ]; then
    touch "$BACK/bound"
    mount --bind "$BACK/xfs-1/dir/f" "$BACK/bound"
    for first in bound xfs-1/dir/f; do
        mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
        bound=$(number "$MNT/$first")
        for name in bound xfs-1/dir/f bound xfs-1/dir/link; do
            ls "$MNT/xfs-1" >/dev/null
            expect "$name, the same file as $first" "$bound" "$(number "$MNT/$name")"
        done
        unmount
    done
    umount "$BACK/bound"
    rm "$BACK/bound"
fi

mount_volfile "$VOL"
check
before=$(numbers)
unmount
for name in "${disks[@]}"; do
    umount "$BACK/$name" || fail "umount $name"
done
cp ext4-1.disk copy.disk
for name in $(printf '%s\n' "${disks[@]}" | sort -r); do
    mount_disk "$name" || fail "mount $name: $(cat err)"
done
mount_volfile "$VOL"
find "$MNT" >/dev/null # another order than before
expect "numbers, mounted in another order" "$before" "$(numbers)"
mkdir "$BACK/copy"
mount_disk copy || fail "mount copy: $(cat err)"
wait_until "[ -e '$MNT/copy/dir' ]"
check
unmount
for name in copy "${disks[@]}"; do
    umount "$BACK/$name" || fail "umount $name"
done
[ -z "${skipped-}" ] || echo "not tried:$skipped"
