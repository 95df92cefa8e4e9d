#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit writes to the journal: each record is an entry, a path with any bytes included; a
# journal that takes nothing is told of the gap afterwards.
. "$(dirname "$0")/../lib.sh"

need_root
need_command python3
[ -d /run/systemd ] || mkdir /run/systemd
mount -t tmpfs none /run/systemd # in this mount namespace
mkdir /run/systemd/journal
cat >receive.py <<'END'
import json, socket, struct, sys
at = socket.socket (socket.AF_UNIX, socket.SOCK_DGRAM)
at.bind ("/run/systemd/journal/socket")
while True:
    entry, fields = at.recv (1 << 20), {}
    while entry:
        name, _, rest = entry.partition (b"\n")
        size = struct.unpack ("<Q", rest[:8])[0]
        fields[name.decode ()] = rest[8:8 + size].decode ()
        entry = rest[9 + size:]
    if fields["SYSLOG_IDENTIFIER"] == "windlass-audit":
        print (json.dumps (json.loads (fields["MESSAGE"])), flush=True)
END
python3 receive.py >entries &
receiver=$!
trap 'kill -CONT $receiver; kill $receiver; cleanup' EXIT
wait_until '[ -S /run/systemd/journal/socket ]'
stack features/audit,target=journal
mount_volfile "$VOL"
mkdir "$MNT/"$'evil\n"PRIORITY=0'
wait_until 'grep -q mkdir entries'
expect_match "the path" '"path": "/evil\\n\\"PRIORITY=0"' "$(cat entries)"
kill -STOP $receiver
for n in {1..1500}; do
    echo "$MNT/dir-$n"
done | xargs mkdir
kill -CONT $receiver
wait_until 'grep -q "\"gap\"" entries'
mkdir "$MNT/last"
wait_until 'grep -q /last entries'
expect "records and the gap" 1502 "$(python3 - entries <<'END'
import json, sys
lines = [json.loads (line) for line in open (sys.argv[1])]
print (sum (one.get ("gap", "operation" in one) for one in lines))
END
)"
unmount
