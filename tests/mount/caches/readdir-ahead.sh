#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# performance/readdir-ahead from a user's view: large directories, names that come and go while they
# are listed, attributes that change, jumps; errors below; options refused with their line; a
# reload; the end of a mount with a listing under way.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command python3

over () { # TYPE,OPTION...: these, over $BACK, below readdir-ahead
    stack "$@" performance/readdir-ahead
}

n=1200
mkdir "$BACK/many"
(cd "$BACK/many" && seq -f 'entry-%04g' $n | xargs touch)

over
mount_volfile "$VOL"
expect "the names" "$n" "$(find "$MNT/many" -mindepth 1 -printf '%f\n' | sort -u | wc -l)"
expect "and no name twice" "$n" "$(ls -f "$MNT/many" | grep -c '^entry-')"
expect "with attributes" "$n" "$(ls -fl "$MNT/many" | grep -c '^-rw-.* entry-')"

# Names come and go, and files grow, during a listing; names that stay are given once; each given
# name can be looked up.
python3 - "$MNT/many" <<'PYTHON' || fail "a listing with changes"
import os, sys
os.chdir(sys.argv[1])
names, gone = [], set()
with os.scandir(".") as entries:
    for i, entry in enumerate(entries):
        if entry.name in gone: # the C library had read it before
            assert not os.path.lexists(entry.name), f"{entry.name} is gone, and still known"
            continue
        names.append(entry.name)
        if i % 200 == 100:
            for k in range(3):
                name = f"entry-{1 + (i * 13 + k * 777) % 1200:04}"
                if name not in names and name not in gone:
                    os.unlink(name)
                    gone.add(name)
                    assert not os.path.exists(name)
            open(f"new-{i}", "w").close()
        if i % 50 == 7 and entry.name.startswith("entry-"):
            later = f"entry-{1 + (i * 7) % 1200:04}"
            if later not in gone:
                with open(later, "a") as file:
                    file.write("x" * 100)
                size = os.stat(later).st_size
                assert size % 100 == 0 and size > 0
        if entry.name.startswith("entry-"):
            assert entry.stat(follow_symlinks=False).st_size == os.stat(entry.name).st_size
old = [name for name in names if name.startswith("entry-")]
assert len(old) == len(set(old)), "twice"
assert set(old) | gone == {f"entry-{i:04}" for i in range(1, 1201)}, "some are missing"
PYTHON

# telldir and seekdir, and two descriptions at a time.
python3 - "$MNT/many" <<'PYTHON' || fail "jumps"
import ctypes, ctypes.util, sys
libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
class Dirent(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("reclen", ctypes.c_ushort),
                ("type", ctypes.c_ubyte), ("name", ctypes.c_char * 256)]
libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(Dirent)
libc.readdir.argtypes = libc.rewinddir.argtypes = libc.telldir.argtypes = [ctypes.c_void_p]
libc.telldir.restype = ctypes.c_long
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
d, e = (libc.opendir(sys.argv[1].encode()) for _ in range(2))
def one(d):
    entry = libc.readdir(d)
    return entry.contents.name if entry else None
places, names = [], []
while True:
    places.append(libc.telldir(d))
    name = one(d)
    if name is None:
        break
    names.append(name)
    if len(names) % 3 == 0:
        one(e)
for i in [7, 1100, 5, 1099, 0, 600, 601, len(names) - 1, 3, 250, 251, 900]:
    libc.seekdir(d, places[i])
    assert one(d) == names[i], i
libc.rewinddir(d)
assert [one(d) for _ in names] == names and one(d) is None
PYTHON

# A directory that goes while it is open is at its end.
mkdir "$MNT/gone"
python3 - "$MNT/gone" <<'PYTHON' || fail "a directory that goes"
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.rmdir(sys.argv[1])
try:
    assert os.listdir(fd) == []
except FileNotFoundError:
    pass
os.fsync(fd)
PYTHON
tar -C "$MNT" -cf all.tar many && rm -r "$MNT/many" && tar -C "$MNT" -xf all.tar ||
    fail "tar, rm and tar again"
expect "what tar has brought back" "$(tar -tf all.tar | grep -c '[^/]$')" \
    "$(find "$MNT/many" -type f | wc -l)"
cat "$MNT"/.meta/graphs/active/readdir-ahead-1/private >dump
expect_match "what was read ahead" '^hits *= *[1-9]' "$(cat dump)"
unmount

# Two changes behind the mount are in a listing within a second: it shows those that it had not read
# ahead.
over
mount_volfile "$VOL"
ls -l "$MNT/many" >/dev/null
touch "$BACK/many/behind"
sleep 1.1
expect "a name from behind" 1 "$(ls "$MNT/many" | grep -c behind)"

stack performance/readdir-ahead,rda-cache-limit=0,rda-high-wmark=1MB
expect_ok "$WINDLASS" reload "$MNT"
expect "a listing after a reload" "$(ls "$BACK/many" | wc -l)" "$(ls "$MNT/many" | wc -l)"
unmount

# An error below comes where it happened; the next listing is whole.
over debug/error-gen,failure=100,enable=readdirp,error-no=EIO
mount_volfile "$VOL"
expect_error "Input/output error" ls "$MNT/many"
unmount

# The mount goes while a listing waits for storage.
over debug/delay-gen,delay-percentage=100,delay-duration=3000000,enable=readdirp
mount_volfile "$VOL"
ls "$MNT/many" >/dev/null 2>&1 &
wait_until '"$WINDLASS" inflight "$MNT" | grep -q readdir'
umount -l "$MNT" || fail "could not unmount"
wait
wait_until "! is_running $DAEMON"
DAEMON=''

for bad in rda-request-size=2KB rda-request-size=1MB rda-low-wmark=11MB rda-high-wmark=200MB \
    rda-cache-limit=-1 rda-cache-timeout=forever; do
    stack performance/readdir-ahead,$bad
    expect_error "$(basename "$VOL"):[0-9]+:[0-9]+.*${bad%=*}.*must be" "$WINDLASS" -f "$VOL" "$MNT"
done
