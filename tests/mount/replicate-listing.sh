#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A listing of a directory goes on when the brick that it was read from dies: each name comes once.
. "$(dirname "$0")/replicate-lib.sh"

bricks_begin
replicate_volfile read-subvolume=c0
mount_volfile "$VOL"
mkdir "$MNT/many"
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
unmount
