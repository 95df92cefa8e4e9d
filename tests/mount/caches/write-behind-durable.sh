#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Data that was synced through write-behind survives a power cut, and a database over storage whose
# fsync and writes fail confirms nothing that is lost; git finds its repository in order.
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command sqlite3 git
RANDOM=${POWER_CUT_SEED:=$$}
echo "POWER_CUT_SEED=$POWER_CUT_SEED"
behind=performance/write-behind

# cuts N OPTIONS PRAGMAS: a database, and the power cut N times after some transactions were
# confirmed.
cuts () {
    local number=0
    stack "debug/power-cut$2" $behind
    rm -rf "${BACK:?}"/*
    : >confirmed
    mount_volfile "$VOL"
    expect_ok sqlite3 "$MNT/db" "$3 create table t (n integer primary key, text);"
    expect_ok "$WINDLASS" tell "$MNT" power-cut-1 sync
    for ((cut = 0; cut < $1; cut++)); do
        [ -n "$DAEMON" ] || mount_volfile "$VOL" --xlator-option power-cut-1.seed=$RANDOM
        for ((i = RANDOM % 6; i >= 0; i--)); do
            number=$((number + 1))
            expect_ok sqlite3 -bail "$MNT/db" \
                "$3 insert into t values ($number, hex (randomblob ($((RANDOM % 9000)))));"
            echo $number >>confirmed
        done
        expect_ok "$WINDLASS" power-cut "$MNT"
        wait_until "! is_running $DAEMON"
        DAEMON=''
        expect "integrity with '$2' and '$3'" ok "$(sqlite3 "$BACK/db" 'pragma integrity_check')"
        expect "what was lost with '$2' and '$3'" '' \
            "$(sqlite3 "$BACK/db" 'select n from t' | sort | comm -23 <(sort confirmed) -)"
    done
}
for options in '' ,data=torn,sizes=early,names=random,metadata=random; do
    cuts 3 "$options" 'pragma journal_mode=delete; pragma synchronous=extra;'
    cuts 3 "$options" 'pragma journal_mode=wal; pragma synchronous=full;'
done

# fails RULES: transactions while storage fails; what was confirmed is there, whatever else is.
fails () {
    local confirmed=0
    echo "$1" >rules
    rm -rf "${BACK:?}"/*
    stack debug/fault,seed=$RANDOM $behind
    mount_volfile "$VOL"
    expect_ok sqlite3 "$MNT/db" 'create table t (n integer primary key, text);'
    expect_ok "$WINDLASS" fault "$MNT" rules
    : >confirmed
    for i in {1..40}; do
        sqlite3 -bail "$MNT/db" "insert into t values ($i, hex (randomblob (3000)));" 2>/dev/null &&
            echo "$i" >>confirmed
    done
    expect_ok "$WINDLASS" fault "$MNT" --clear
    unmount
    confirmed=$(wc -l <confirmed)
    [ "$confirmed" -gt 0 ] && [ "$confirmed" -lt 40 ] ||
        fail "$confirmed of 40 were confirmed with: $1"
    expect "integrity with $1" ok "$(sqlite3 "$BACK/db" 'pragma integrity_check')"
    expect "what was lost with: $1" '' \
        "$(sqlite3 "$BACK/db" 'select n from t' | sort | comm -23 <(sort confirmed) -)"
}
fails 'fsync probability 15% -> error EIO'
fails 'writev path *db* probability 8% -> error ENOSPC'

stack debug/delay-gen,delay-percentage=10%,delay-duration=2000,enable=writev $behind
mount_volfile "$VOL"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a \
    GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
expect_ok git init -q "$MNT/repository"
for i in {1..60}; do seq 1 $((i * 20)) >"$MNT/repository/$i"; done
expect_ok git -C "$MNT/repository" add .
expect_ok git -C "$MNT/repository" commit -qm files
expect_ok git -C "$MNT/repository" gc -q
expect_ok git clone -q "$MNT/repository" "$MNT/clone"
unmount
expect_ok git -c safe.directory='*' -C "$BACK/clone" fsck --full --strict
expect "status" '' "$(git -c safe.directory='*' -C "$BACK/repository" status --porcelain)"
