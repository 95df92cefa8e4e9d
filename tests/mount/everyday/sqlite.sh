#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Databases of sqlite on a mount keep their integrity with two writers at once, in both journal
# modes.
. "$(dirname "$0")/../lib.sh"
need_command sqlite3

# write FILE WHO: 40 transactions.
write () {
    for i in {1..40}; do
        echo ".timeout 60000"
        echo "begin immediate; insert into t (who, number) values ('$2', $i);" \
            "update c set n = n + 1; commit;"
    done | sqlite3 -bail "$1"
}

# database FILE MODE
database () {
    expect "the mode" "$2" \
        "$(sqlite3 "$1" "pragma journal_mode=$2; create table t (who, number);
            create table c (n); insert into c values (0);")"
    write "$1" one &
    first=$!
    write "$1" two || fail "the second writer failed"
    wait $first || fail "the first writer failed"
    expect "rows and count" "80 80" \
        "$(sqlite3 -separator ' ' "$1" 'select (select count(*) from t), n from c')"
    expect "integrity" ok "$(sqlite3 "$1" 'pragma integrity_check')"
}

stack encryption/rot-13
for options in --kernel-writeback-cache=off --kernel-writeback-cache=on; do
    mount_volfile "$VOL" $options
    database "$MNT/rollback$options" delete
    database "$MNT/wal$options" wal
    unmount
    mount_volfile "$VOL"
    expect "integrity later" ok "$(sqlite3 "$MNT/wal$options" 'pragma integrity_check')"
    unmount
done
