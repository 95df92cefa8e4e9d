#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A listing of a directory goes on when the brick that it was read from dies: each name comes once.
# It brings the attributes along if no brick has anything to heal, and never those of a bad copy.
# Another open directory goes on where one has stopped. What GlusterFS's healer keeps in the root is
# not in the listing.
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile read-subvolume=c0
mount_volfile "$VOL"
mkdir "$MNT/many" "$MNT/few"
(cd "$MNT/few" && seq 50 | xargs touch)
(cd "$MNT/many" && seq -f 'a-rather-long-name-of-a-file-%04.0f' 1 1500 | xargs touch)
cat >listing.py <<'EOF2'
import os, sys
with os.scandir(sys.argv[1]) as listing:
    names = [next(listing).name]
    print("begun", flush=True)
    sys.stdin.readline()
    names += [entry.name for entry in listing]
print(len(names), len(set(names)))
EOF2
coproc PROGRAM { python3 listing.py "$MNT/many"; }
read -r line <&"${PROGRAM[0]}"
expect "the program" begun "$line"
brick_kill c0
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: c0'"
echo >&"${PROGRAM[1]}"
read -r line <&"${PROGRAM[0]}"
expect "names, and different ones" "1500 1500" "$line"
expect "a new listing" 1500 "$(find "$MNT/many" -type f | wc -l)"
brick_start c0
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
unmount

mount_volfile "$VOL"
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
cat >parts.py <<'EOF2'
import ctypes, os, struct, sys

def names(fd, size):
    """Those of one getdents64, and the offset behind the last."""
    room, found, end = ctypes.create_string_buffer(size), [], 0
    used = ctypes.CDLL(None).syscall(217 if os.uname().machine == "x86_64" else 61, fd, room, size)
    at = 0
    while at < used:
        end, length = struct.unpack_from("qH", room.raw, at + 8)
        found.append(room.raw[at + 19:at + length].split(b"\0", 1)[0])
        at += length
    return found, end

listed, offset, more = [], 0, [None]
while more:
    fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
    os.lseek(fd, offset, os.SEEK_SET)
    more, offset = names(fd, 20000)
    os.close(fd)
    listed += more
print(len(listed), len(set(listed)))
EOF2
expect "names by parts, and different ones" "1502 1502" "$(python3 parts.py "$MNT/many")"
"$WINDLASS" stats "$MNT" --on >/dev/null
expect "sizes of 50 files" "50 0" \
    "$(find "$MNT/few" -type f -printf '%s\n' | sort | uniq -c | xargs)"
lookups=$("$WINDLASS" stats "$MNT" 2>/dev/null |
    sed -n 's/^windlass_fop_seconds_count{translator="r",.*fop="lookup"} //p')
[ "$lookups" -lt 20 ] || fail "a listing of 50 names made $lookups lookups"

brick_kill c0
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: c0'"
changed=$MNT/few/7
echo text >"$changed"
chmod 600 "$changed"
brick_start c0
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
unmount
mount_volfile "$VOL"
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
expect "the changed file" "5 600" "$(find "$MNT/few" -type f -size +0 -printf '%s %m\n')"
own=.glusterfs-anonymous-inode-0123
mkdir "$TEST_DIR"/c{0,1,2}.d/$own
expect "names in the root" "few many" "$(ls -A "$MNT" | sort | xargs)"
expect_error 'No such file' stat "$MNT/$own"
expect_error 'Operation not permitted' mkdir "$MNT/$own"
unmount
