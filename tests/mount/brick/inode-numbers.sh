#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A file of a brick, and of a replicated or distributed volume, has one inode number: that of stat is
# in each listing, with attributes or without, also for "." and "..".
. "$(dirname "$0")/../replicate/lib.sh"

# Each directory is listed first, listed again at once, which the bridge answers with names alone,
# and with offsets.
cat >numbers.py <<'EOF_PY'
import ctypes, os, struct, sys

def entries(path, size):
    """Name and number of each entry, in pieces of that size."""
    fd, room = os.open(path, os.O_RDONLY | os.O_DIRECTORY), ctypes.create_string_buffer(size)
    call = 217 if os.uname().machine == "x86_64" else 61
    while (used := ctypes.CDLL(None).syscall(call, fd, room, size)) > 0:
        at = 0
        while at < used:
            number, _, length = struct.unpack_from("QqH", room.raw, at)
            yield room.raw[at + 19:at + length].split(b"\0", 1)[0].decode(), number
            at += length
    os.close(fd)

top, seen = sys.argv[1], 0
for size in 32768, 32768, 1000:
    for path, _, _ in os.walk(top):
        for name, number in entries(path, size):
            if path != top or name != "..":
                real = os.lstat(os.path.join(path, name)).st_ino
                assert number == real, f"{path}/{name}: {number:#x}, but stat has {real:#x}"
                seen += 1
            else:
                assert number == os.stat(top).st_ino, f"'..' of the root: {number:#x}"
print(seen)
EOF_PY

check () { # WHAT
    local options
    for options in --use-readdirp=yes --use-readdirp=no; do
        mount_volfile "$VOL" $options
        expect "$1, $options" 555 "$(python3 numbers.py "$MNT" 2>&1 | tail -n 1)"
        unmount
    done
}

bricks_begin
replicate_volfile
mount_volfile "$VOL"
mkdir -p "$MNT/dir/below"
(cd "$MNT/dir" && seq -f 'file-%03g' 175 | xargs touch)
ln "$MNT/dir/file-001" "$MNT/dir/below/link"
ln -s file-001 "$MNT/dir/symlink"
mkfifo "$MNT/dir/pipe"
unmount
check "replicate"

brick_volfile c0
check "a brick"
distribute_volfile "$VOL" c0
check "distribute"
