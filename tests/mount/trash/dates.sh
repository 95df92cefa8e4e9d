#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Dates that no calendar has, and times at the ends of what a file can have, in information files:
# they are listed and sorted as the time of the file, and no command fails or ends the daemon.
# builds: debug
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command python3

export TZ=UTC
stack features/trash,settle=50ms,max-age=0
mount_volfile "$VOL"
mkdir -p "$BACK"/.Trash-0/{info,files}
chmod 700 "$BACK"/.Trash-0{,/info,/files}
python3 - "$BACK/.Trash-0" <<'END'
import os, sys
os.chdir(sys.argv[1])
dates = {"month": "9999-99-99T99:99:99", "february": "2026-02-30T00:00:00", "zero": "0000-00-00T00:00:00",
         "hour": "2026-01-01T24:00:00", "sign": "-999-01-01T00:00:00", "blank": " 026-01-01T00:00:00",
         "digits": "2026-01-01T00:00:000", "short": "2026-01-01", "bytes": "\udcff\x1b[2J\udcfe", "empty": "",
         "last": "9999-12-31T23:59:59", "first": "0001-01-01T00:00:00", "leap": "2024-02-29T23:59:60",
         "zone": "2026-01-01T00:00:00Z", "good": "2026-01-01T00:00:00"}
for name, date in dates.items():
    open(f"info/{name}.trashinfo", "w", errors="surrogateescape").write(
        f"[Trash Info]\nPath={name}\nDeletionDate={date}\n")
    open(f"files/{name}", "w").close()
    os.utime(f"info/{name}.trashinfo", (1e9, 1e9))
for name, when in ("past", -2**63), ("future", 2**63 - 1):
    open(f"info/{name}.trashinfo", "w").write(f"[Trash Info]\nPath={name}\n")
    open(f"files/{name}", "w").close()
    for when in when, when // 2**29: # what the file system can have
        try:
            os.utime(f"info/{name}.trashinfo", (when, when))
            break
        except OverflowError:
            pass
END

"$WINDLASS" trash list "$MNT" >listed || fail "no list"
expect_no_match "a line without a date" '^([^0-9]|[0-9]{1,3}-|[0-9]{5})' "$(cat listed)"
date_of () { sed -n "s/^\(....-..-..\) \(..:..:..\) .*	$1$/\1T\2/p" listed; }
for name in month february zero hour sign blank digits short bytes empty; do
    expect "the date of $name" 2001-09-09T01:46:40 "$(date_of $name)"
done
expect "dates that are some" "9999-12-31 0001-01-02 2024-03-01 2026-01-01 2026-01-01" \
    "$(for name in last first leap zone good; do date_of $name | cut -d T -f 1; done | xargs)"
expect "the order" "$(cut -c 1-19 listed | sort)" "$(cut -c 1-19 listed)"
for _ in 1 2 3; do
    expect "the order is the same again" "$(cat listed)" "$("$WINDLASS" trash list "$MNT")"
done
"$WINDLASS" trash list --json "$MNT" | python3 -c 'import datetime, json, sys
for one in json.load(sys.stdin):
    datetime.datetime.strptime(one["date"], "%Y-%m-%dT%H:%M:%S")' || fail "the JSON is wrong"

# What compares such times: ages, limits.
expect_ok "$WINDLASS" trash list --older 1d "$MNT"
expect "restore" "restored 1 entry" "$("$WINDLASS" trash restore --older 10000d "$MNT" past)"
sed -i 's/max-age "0"/max-age "100d"/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
wait_until '[ ! -e "$BACK/.Trash-0/files/good" ]'
wait_until '[ -z "$("$WINDLASS" jobs list "$MNT")" ]'
expect_ok "$WINDLASS" trash empty "$MNT"
unmount
