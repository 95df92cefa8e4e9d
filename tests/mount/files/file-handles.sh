#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files are opened by file handle, as an NFS server does, even after the kernel forgot them and they
# were renamed. The test has the kernel drop its caches, also those of other tests.
. "$(dirname "$0")/../lib.sh"
need_root

mkdir -p "$BACK/dir"
echo one >"$BACK/one"
echo two >"$BACK/two"
stack
mount_volfile "$VOL"
echo three >"$MNT/three"
expect "what the handles open" "one: one
two: two
three: three" "$("$PROGRAMS/handles" "$MNT" one two three)"

# A handle of what is gone is stale, also if its inode's number is in use again.
echo gone >"$MNT/gone"
mkdir "$MNT/again"
expect_match "after a rename within" '^one.renamed: one$' \
    "$("$PROGRAMS/handles" "$MNT" one.renamed)"
expect "what is in the directory" "again dir gone one.renamed.renamed three.renamed two.renamed" \
    "$(ls "$BACK" | paste -sd' ')"
unmount

# Beyond lru-limit a handle of a file that the kernel forgot is stale. It never opens another file,
# even when another file has the inode's number by then, in the mount or in the directory.
need_command python3
cat >handles.py <<'END'
import ctypes, errno, os, sys
libc = ctypes.CDLL (None, use_errno=True)
os.chdir (sys.argv[1])
top = os.open (".", os.O_RDONLY | os.O_DIRECTORY)

class Handle (ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("bytes", ctypes.c_char * 128)]

def handle_of (name):
    handle, mount = Handle (128), ctypes.c_int ()
    if libc.name_to_handle_at (top, name.encode (), ctypes.byref (handle), ctypes.byref (mount),
                               0) < 0:
        raise OSError (ctypes.get_errno (), name)
    return handle

def forget ():
    with open ("/proc/sys/vm/drop_caches", "w") as drop:
        drop.write ("2")

def make (name):
    with open (name, "w") as file:
        file.write (name)

names = [f"file-{i}" for i in range (400)]
for name in names:
    make (name)
handles = [handle_of (name) for name in names]
counts = {"opened": 0, "stale": 0}

def look (removed):
    forget ()
    for i, handle in enumerate (handles):
        fd = libc.open_by_handle_at (top, ctypes.byref (handle), os.O_RDONLY)
        if fd < 0:
            if ctypes.get_errno () != errno.ESTALE:
                print (names[i], os.strerror (ctypes.get_errno ()))
            counts["stale"] += 1
            continue
        text = os.read (fd, 100).decode ()
        os.close (fd)
        if text != names[i] or i in removed:
            print (names[i], "opened", text)
        counts["opened"] += 1

look (())
# Others take the numbers of what is forgotten and of what is gone.
removed = set (range (0, 400, 2))
for i in removed:
    os.unlink (names[i])
for i in range (400):
    make (f"other-{i}")
look (removed)
print (counts["opened"], counts["stale"])
# Found by its name again, a file is open to its handle again or stale.
for name in os.listdir ("."):
    os.stat (name)
look (removed)
END
# handles_with LRU_LIMIT: how many of 600 handles of files that are there were opened, and how many
# were stale, those of 200 removed ones among them.
handles_with () {
    rm -rf "${BACK:?}"/*
    mount_volfile "$VOL" --lru-limit="$1"
    python3 handles.py "$MNT" || fail "handles with lru-limit=$1"
    unmount
}

read -r opened stale <<<"$(handles_with 16)"
[ "$opened" -gt 0 ] && [ "$stale" -gt 400 ] ||
    fail "handles beyond lru-limit: $opened opened, $stale stale"

# Within lru-limit none gets stale.
expect "handles within lru-limit" "600 200" "$(handles_with 1000000000)"

# A handle of a file that has no name any more is stale, also while a translator still holds what it
# has read ahead of an open directory.
rm -rf "${BACK:?}"/*
stack performance/readdir-ahead
mount_volfile "$VOL"
cat >unlinked.py <<'END'
exec (open ("handles.py").read ().partition ("names =")[0])
names = [f"file-{i}" for i in range (1000)]
for name in names:
    make (name)
handles = [handle_of (name) for name in names]
listing = os.open (".", os.O_RDONLY | os.O_DIRECTORY)  # reads ahead
for name in names:
    os.unlink (name)
forget ()
for name, handle in zip (names, handles):
    if libc.open_by_handle_at (top, ctypes.byref (handle), os.O_RDONLY) >= 0:
        print (name)
    elif ctypes.get_errno () != errno.ESTALE:
        print (name, os.strerror (ctypes.get_errno ()))
END
expect "the unlinked files that were opened" '' "$(python3 unlinked.py "$MNT" | head -n 3)"
