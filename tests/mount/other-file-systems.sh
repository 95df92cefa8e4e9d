#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Other file systems below the directory: the mount is one device, and in it an inode number names
# one file, though the file systems number theirs alike. Listings agree with stat; the number of a
# file is the same in each mount, and when its file system was mounted again; files of the
# directory's own have storage's numbers. A file system that comes or goes is noticed.
. "$(dirname "$0")/lib.sh"
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
files = {}
for path, names, others in os.walk(sys.argv[1]):
    listed = {entry.name: entry.inode() for entry in os.scandir(path)}
    for name in names + others:
        one = os.path.join(path, name)
        st = os.lstat(one)
        behind = os.lstat(os.path.join(sys.argv[2], os.path.relpath(one, sys.argv[1])))
        if st.st_ino < 1 << 48:
            assert behind.st_dev == os.stat(sys.argv[2]).st_dev, one
            assert st.st_ino == behind.st_ino, one
        key = behind.st_dev, behind.st_ino
        assert files.setdefault(st.st_ino, key) == key, f"{one} has the number of another file"
        assert os.path.ismount(os.path.join(sys.argv[2], os.path.relpath(one, sys.argv[1]))) \
            or behind.st_ino == 256 or listed[name] == st.st_ino, f"{one}: listing and stat differ"
        assert not st.st_ino >> 63
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
ls -lR "$MNT" >/dev/null
mount_tmpfs "$BACK/c"
fill "$BACK/c"
wait_until "[ -e '$MNT/c/dir' ]"
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

mount_volfile "$VOL" --use-readdirp=no
expect "a file in the next mount" "$before" "$(number "$MNT/a/dir/f")"
check
unmount
umount "$BACK/a" "$BACK/b" "$BACK/c"
rmdir "$BACK"/[abc]

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
