#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Power cuts under sqlite: all that it confirmed is there afterwards, and the database is in order,
# as far as its manual promises that; data that it does not promise is lost now and then.
# longer
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command sqlite3 stdbuf
RANDOM=${POWER_CUT_SEED:=$(amount 20261124 $$)}
echo "POWER_CUT_SEED=$POWER_CUT_SEED"

# cuts N OPTIONS PRAGMAS [settled]: a database, and N cuts in the middle of its transactions, or
# right after the last was confirmed, when no later write of it may come; fewer if a cut loses rows
# that were confirmed: $missing says how many.
cuts () {
    local pragmas=$3 number=0 answer
    stack "debug/power-cut$2"
    rm -rf "${BACK:?}"/*
    : >confirmed
    mount_volfile "$VOL"
    expect_ok sqlite3 "$MNT/db" "$pragmas create table t (n integer primary key, text);"
    expect_ok "$WINDLASS" tell "$MNT" debug/power-cut sync
    for ((cut = 0; cut < $1; cut++)); do
        [ -n "$DAEMON" ] || mount_volfile "$VOL" --xlator-option power-cut-1.seed=$RANDOM
        coproc exec stdbuf -oL sqlite3 -batch "$MNT/db" 2>&1
        writer=$COPROC_PID
        exec 6<&"${COPROC[0]}" 7>&"${COPROC[1]}"
        echo "$pragmas select 'ready';" >&7
        answer=''
        until [ "$answer" = ready ]; do read -r answer <&6 || fail "sqlite died"; done
        for ((i = RANDOM % 8; i >= 0; i--)); do
            number=$((number + 1))
            echo "insert into t values ($number, hex (randomblob ($((RANDOM % 9000)))));" \
                "select $number;" >&7
            [[ $i = 0 && -z ${4-} ]] || {
                read -r answer <&6 || fail "sqlite died"
                expect "a confirmation" $number "$answer"
                echo $number >>confirmed
            }
        done
        expect_ok "$WINDLASS" power-cut "$MNT"
        wait_until "! is_running $DAEMON"
        DAEMON=''
        kill $writer 2>/dev/null
        wait $writer 2>/dev/null
        exec 6<&- 7>&-
        expect "integrity with '$2' and '$3' after cut $cut" ok \
            "$(sqlite3 "$BACK/db" 'pragma integrity_check')"
        sqlite3 "$BACK/db" 'select n from t' | sort >there
        missing=$(sort confirmed | comm -23 - there | wc -l)
        [ "$missing" = 0 ] || return 0
    done
}

worst=,data=torn,sizes=early,names=random,metadata=random
for options in '' $worst; do
    for pragmas in 'pragma journal_mode=delete; pragma synchronous=extra;' \
        'pragma journal_mode=wal; pragma synchronous=full;'; do
        cuts "$(amount 2 6)" "$options" "$pragmas"
        expect "rows lost with '$options' and '$pragmas'" 0 "$missing"
    done
done

# FULL does not sync the directory after it removes the journal, which is the commit: the journal
# may come back, and undo it.
for pragmas in 'pragma journal_mode=delete; pragma synchronous=full;' \
    'pragma journal_mode=wal; pragma synchronous=normal;'; do
    cuts 10 '' "$pragmas" settled
    [ "$missing" -gt 0 ] || fail "10 cuts lost nothing with $pragmas"
done
