#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit: after a kill -9 of the daemon the log has each operation that a program knows to be
# done, and no half of one; the next daemon goes on with the numbers.
. "$(dirname "$0")/../lib.sh"

need_root
need_command python3
mkdir records
LOGFILE=$TEST_DIR/records/audit.log
stack "features/audit,log-directory=$TEST_DIR/records,max-size=20KB,keep=1000"
for round in $(seq "$(amount 4 50)"); do
    mount_volfile "$VOL"
    pids=()
    for worker in 1 2 3; do
        for n in {1..100000}; do
            mkdir "$MNT/$round.$worker.$n" 2>/dev/null || break
            echo "/$round.$worker.$n"
        done >>done &
        pids+=($!)
    done
    want=$((round * 40))
    wait_until "[ \$(wc -l <done) -ge $want ]"
    kill -9 "$DAEMON"
    wait "${pids[@]}"
    umount -l "$MNT"
done
# A record that a daemon has left half written does not spoil the next one.
printf '{"unwind":77' >>"$LOGFILE"
mount_volfile "$VOL"
mkdir "$MNT/last"
unmount
expect_ok python3 - "$TEST_DIR/records" <<'END'
import json, os, sys
done = {line.strip () for line in open ("done")} | {"/last"}
records, torn = [], 0
names = [name for name in os.listdir (sys.argv[1]) if name[0] != "."]
names.sort (key=lambda name: -int (name.rpartition (".")[2]) if name[-1].isdigit () else 0)
for name in names:
    for line in open (f"{sys.argv[1]}/{name}", encoding="utf-8"):
        if line == '{"unwind":77\n':
            torn += 1
        else:
            records.append (json.loads (line))
assert torn == 1, torn
made = [one["path"] for one in records if one.get ("operation") == "mkdir"]
assert not done - set (made), f"not recorded: {sorted (done - set (made))[:5]}"
assert len (made) == len (set (made)), "recorded twice"
numbers = [one["unwind"] for one in records if "unwind" in one]
assert numbers == sorted (set (numbers)), "numbers are not in order"
END
