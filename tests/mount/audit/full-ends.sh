#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit: what a full disk has cost is in the log when the daemon ends or is killed on it,
# too: the next daemon writes the record of the gap, and gives no number out twice.
. "$(dirname "$0")/../lib.sh"

need_root
need_command jq
mkdir records
mount -t tmpfs -o size=64k tmpfs records || skip "needs mount"
LOGFILE=$TEST_DIR/records/audit.log
echo 'mkdir -> record' >rules

full () {
    "$WINDLASS" explain "$MNT" | grep -q 'the log takes no records now'
}

for policy in drop fail; do
    for end in umount kill; do
        echo "$policy $end"
        rm -f records/* records/.audit*
        stack "features/audit,log-directory=$TEST_DIR/records,when-full=$policy,rules=$TEST_DIR/rules"
        mount_volfile "$VOL"
        mkdir "$MNT/first"
        dd if=/dev/zero of=records/filler bs=512 2>/dev/null
        calls=1
        for i in {1..60}; do
            mkdir "$MNT/dir$i" 2>/dev/null
            calls=$((calls + 1))
        done
        full || fail "the disk is full, and the log is not"
        if [ $end = kill ]; then
            kill -9 "$DAEMON"
            umount -l "$MNT"
        else
            unmount
        fi
        rm records/filler
        mount_volfile "$VOL"
        mkdir "$MNT/last"
        unmount
        jq . "$LOGFILE" >/dev/null || fail "the log is no JSON: $(cat "$LOGFILE")"
        expect "the last record" /last "$(jq -r 'select (.operation) | .path' "$LOGFILE" | tail -n 1)"
        recorded=$(jq 'select (.operation) | .unwind' "$LOGFILE" | wc -l)
        gap=$(jq -s 'map (.gap // 0) | add' "$LOGFILE")
        expect "records and gaps" $((calls + 1)) $((recorded + gap))
        [ "$gap" -ge 3 ] || fail "$gap records are lost"
        expect "nothing is uncertain" "" "$(jq 'select (.at_least)' "$LOGFILE")"
        # Numbers of records, and both ends of gaps, in the order of the file.
        numbers=$(jq 'select (.unwind) // select ((.gap // 0) > 0) |
                      .unwind // ([.first, .last] | unique | .[])' "$LOGFILE")
        expect "numbers in their order" "$(sort -n -u <<<"$numbers")" "$numbers"
        rm -rf "${BACK:?}"/*
    done
done
