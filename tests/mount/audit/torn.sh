#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit: a record of the log itself of which the disk takes only the beginning, when the
# mount moves to another graph, is finished before the next one is written.
# through: device
. "$(dirname "$0")/../lib.sh"

need_root
need_command jq
mkdir records
mount -t tmpfs -o size=64k tmpfs records || skip "needs mount"
LOGFILE=$TEST_DIR/records/audit.log
stack "features/audit,log-directory=$TEST_DIR/records"
mount_volfile "$VOL"
mkdir "$MNT/first"
# A line of the test's own leaves 30 bytes in the last page of the file, and the disk has no other.
room=$((2 * 4096 - 30 - $(stat -c %s "$LOGFILE") % 4096))
printf '{"pad":"%*s"}\n' $((room - 11)) x >>"$LOGFILE"
dd if=/dev/zero of=records/filler bs=4096 2>/dev/null
cat >>"$VOL" <<'END'
volume top
    type encryption/rot-13
    option pass-through on
    subvolumes audit-1
end-volume
END
expect_ok "$WINDLASS" reload "$MNT"
expect "the beginning of a record" 30 "$(tail -n 1 "$LOGFILE" | wc -c)"
rm records/filler
mkdir "$MNT/second"
wait_until "! '$WINDLASS' explain '$MNT' | grep -q 'the log takes no records now'"
mkdir "$MNT/last"
jq . "$LOGFILE" >/dev/null || fail "the log is no JSON: $(tail -n 4 "$LOGFILE")"
expect "records of graphs" 2 "$(jq 'select (.begin) | .begin' "$LOGFILE" | wc -l)"
expect "the last record" /last "$(jq -r 'select (.operation) | .path' "$LOGFILE" | tail -n 1)"
made=$(jq -r 'select (.operation == "mkdir") | .path' "$LOGFILE" | wc -l)
expect "records and the gap" 3 $((made + $(jq -s 'map (.gap // 0) | add' "$LOGFILE")))
unmount
