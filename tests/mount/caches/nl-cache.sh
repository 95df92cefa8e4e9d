#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# nl-cache: a missing name is looked up once, and is seen as soon as any process makes it, in
# whatever way.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command python3 getfattr
cache=performance/nl-cache,nl-cache-timeout=10m

count () { # NAME: of the translator's counters
    sed -n "s/^$1 = //p" "$MNT/.meta/graphs/active/nl-cache-1/private"
}
missing () { # NAME...: they aren't there, twice
    for name; do
        [ ! -e "$name" ] && [ ! -e "$name" ] || fail "'$name' is there"
    done
}
there () { # NAME...
    for name; do
        [ -e "$name" ] || [ -L "$name" ] || fail "'$name' isn't there"
    done
}

mkdir "$BACK/d"
stack "$cache"
mount_volfile "$VOL" --entry-timeout=0
missing "$MNT"/d/{1..100}
[ "$(count negative_lookup_miss_count)" -lt 110 ] ||
    fail "storage was asked $(count negative_lookup_miss_count) times"
[ "$(count negative_lookup_hit_count)" -ge 100 ] ||
    fail "only $(count negative_lookup_hit_count) were remembered"

# Each way in which a name comes, and goes.
cd "$MNT/d" || exit 1
missing file dir fifo sym hard moved swapped sub tmp dir2
: >file
mkdir dir
mkfifo fifo
ln -s nowhere sym
ln file hard
there file dir fifo sym hard
mv file moved
there moved
missing file
python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
open("a", "w").close()
os.mkdir("dir/in")
assert libc.renameat2(-100, b"a", -100, b"dir/in", 2) == 0, os.strerror(ctypes.get_errno())
try:
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR)
    os.link(f"/proc/self/fd/{fd}", "tmp", src_dir_fd=0, follow_symlinks=True)
except OSError: # the library doesn't have it
    os.link("sym", "tmp", follow_symlinks=False)
END
there a dir/in tmp
[ -d a ] || fail "an exchange left a file"
missing dir/x
mv dir dir2
there dir2/in
missing dir/in dir2/x
: >dir2/x
there dir2/x
rm moved hard
missing moved hard
cd "$TEST_DIR" || exit 1

# While some look for names others make them: who made one sees it.
python3 - "$MNT/d" <<'END' || fail "a name that was made isn't seen"
import os, sys, threading
stop, late = threading.Event(), []
def look():
    while not stop.is_set():
        for i in range(8):
            os.path.exists(f"{sys.argv[1]}/r{i}")
def make(i):
    for _ in range(150):
        name = f"{sys.argv[1]}/r{i}"
        open(name, "x").close()
        if not os.path.exists(name):
            late.append(name)
        os.unlink(name)
        if os.path.exists(name):
            late.append(name)
lookers = [threading.Thread(target=look) for _ in range(2)]
makers = [threading.Thread(target=make, args=(i,)) for i in range(4)]
for t in lookers + makers: t.start()
for t in makers: t.join()
stop.set()
for t in lookers: t.join()
sys.exit(bool(late))
END

# Behind the mount: not until time is over; the limit is one.
missing "$MNT/d/behind"
: >"$BACK/d/behind"
[ ! -e "$MNT/d/behind" ] || fail "storage was asked"
sed -i 's/nl-cache-timeout "10m"/nl-cache-timeout "0"\n    option nl-cache-limit 10KB/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
there "$MNT/d/behind"
missing "$MNT"/d/{1..200}
[ "$(count bytes)" -le 10240 ] || fail "it takes $(count bytes) bytes"
unmount

# All names of a new directory are known, with their spelling; names that other processes make are
# known at once where storage watches.
POSIX_OPTIONS='watch=auto' stack "$cache,nl-cache-positive-entry=on"
mount_volfile "$VOL" --entry-timeout=0
mkdir "$MNT/new"
: >"$MNT/new/Name"
before=$(count negative_lookup_miss_count)
missing "$MNT"/new/{1..50}
expect "how many had to be looked for" "$before" "$(count negative_lookup_miss_count)"
expect "how it is spelt" Name \
    "$(getfattr --only-values -n glusterfs.get_real_filename:nAME "$MNT/new" | tr -d '\0')"
expect_error 'No such file' getfattr -n glusterfs.get_real_filename:other "$MNT/new"
: >"$BACK/new/7"
wait_until '[ -e "$MNT/new/7" ]'
: >"$BACK/d/77"
wait_until '[ -e "$MNT/d/77" ]'
unmount

stack performance/nl-cache,nl-cache-limit=12XB
expect_error "test.vol:7.*'nl-cache-limit' must be .*'12XB'" "$WINDLASS" -f "$VOL" "$MNT"
