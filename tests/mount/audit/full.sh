#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit while the disk of the log is full: operations pass and the gap is told with its
# number, or they wait, or they fail; removals pass; what waits can be interrupted; and what was
# refused or interrupted is recorded.
. "$(dirname "$0")/../lib.sh"

need_root
need_command jq
mkdir records
mount -t tmpfs -o size=64k tmpfs records || skip "needs mount"
LOGFILE=$TEST_DIR/records/audit.log

# fill, empty: the disk of the log.
fill () {
    dd if=/dev/zero of=records/filler bs=512 2>/dev/null
}
empty () {
    rm records/filler
}
full () {
    "$WINDLASS" explain "$MNT" | grep -q 'the log takes no records now'
}

for policy in drop block fail; do
    echo "$policy"
    rm -f records/*
    printf 'mkdir,rmdir,mknod -> record\n' >rules
    stack "features/audit,log-directory=$TEST_DIR/records,when-full=$policy,rules=$TEST_DIR/rules"
    mount_volfile "$VOL"
    mkdir "$MNT/first" "$MNT/removed"
    fill
    # The file of the log has some room in its last page.
    for i in {1..60}; do
        full && break
        [ "$policy" = drop ] || mknod "$MNT/try$i" p
        [ "$policy" != drop ] || mkdir "$MNT/try$i"
    done
    full || fail "the disk is full, and the log is not"
    expect_match "why" 'takes no records now: No space left on device \(when-full\)' \
        "$("$WINDLASS" explain "$MNT")"
    expect_ok rmdir "$MNT/removed"
    case $policy in
    drop)
        mkdir "$MNT/lost1" "$MNT/lost2"
        ;;
    block)
        timeout -s INT 1 mkdir "$MNT/interrupted" 2>/dev/null
        [ ! -e "$BACK/interrupted" ] || fail "a call that waited was done after a signal"
        mkdir "$MNT/waits" &
        waiting=$!
        wait_until "'$WINDLASS' inflight '$MNT' | grep -q 'when-full'"
        [ ! -e "$BACK/waits" ] || fail "it was not held back"
        ;;
    fail)
        expect_error 'Input/output error' mkdir "$MNT/refused"
        ;;
    esac
    empty
    wait_until "! full"
    [ "$policy" != block ] || wait "$waiting" || fail "the call that waited failed"
    mkdir "$MNT/last"
    jq . "$LOGFILE" >/dev/null || fail "the log is no JSON: $(cat "$LOGFILE")"
    expect "the last record" "/last" "$(jq -r 'select (.operation) | .path' "$LOGFILE" | tail -n 1)"
    expect "numbers in their order" "$(jq 'select (.unwind) | .unwind' "$LOGFILE" | sort -n)" \
        "$(jq 'select (.unwind) | .unwind' "$LOGFILE")"
    done_here=$(ls "$BACK" | grep -c -v '^$')
    done_here=$((done_here + 2)) # `removed` was made and removed
    recorded=$(jq -r 'select (.operation and .result == "ok") | .path' "$LOGFILE" | wc -l)
    gap=$(jq -s 'map (.gap // 0) | add' "$LOGFILE")
    expect "records and the gap" "$done_here" $((recorded + gap))
    if [ "$policy" = drop ]; then
        expect "one record of the gap" 1 "$(jq -r 'select (.gap) | .error' "$LOGFILE" | wc -l)"
        [ "$gap" -ge 3 ] || fail "$gap records are lost"
        expect "its cause" ENOSPC "$(jq -r 'select (.gap) | .error' "$LOGFILE")"
        expect_match "the daemon's log" 'takes records again; [0-9]+ are lost' "$(cat "$LOG")"
    else
        expect "nothing is lost" 0 "$gap"
        refused=$(jq -r 'select (.refused) | "\(.operation) \(.path) \(.result)"' "$LOGFILE")
        [ "$policy" != block ] || expect "interrupted" "mkdir /interrupted EINTR" "$refused"
        [ "$policy" != fail ] || expect "refused" "mkdir /refused EIO" "$refused"
    fi
    unmount
    rm -rf "${BACK:?}"/*
done
