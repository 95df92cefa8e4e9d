#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# 100,000 changes behind a mount that is written through as well: nothing hangs, and afterwards the
# mount shows the directory; it ends in the midst of other changes; and while nothing changes no
# thread wakes up.
# builds: tsan debug
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/watch-lib.sh"
need_root
need_command python3

cat >storm.py <<'END'
# Changes of all kinds in the directory, those of names last: N rounds of 5, then a known end.
import os, sys
os.chdir (sys.argv[1])
for i in range (int (sys.argv[2])):
    name = f'n{i % 300}'
    with open (name, 'w') as f:
        f.write (f'{i}\n')
    os.chmod (name, 0o600 | i % 8)
    os.rename (name, 'renamed')
    os.link ('renamed', name)
    os.unlink ('renamed')
open ('last', 'w').write ('the end')
END
for way in filesystem inodes; do
    rounds=2000
    [ $way = filesystem ] || [ "$BUILD_NAME" = tsan ] || rounds=20000
    rm -rf "${BACK:?}"/*
    mkdir "$BACK/d"
    POSIX_OPTIONS="watch=$way" stack
    mount_volfile "$VOL" "${HOUR[@]}"
    ls -l "$MNT/d" >/dev/null
    expect "a missing name" no "$(test -e "$MNT/d/last" || echo no)"

    # Idle: nothing wakes it. All of the file system is never idle, where others work on it.
    if [ $way = inodes ]; then
        thread=$(grep -l posix-watch /proc/"$DAEMON"/task/*/comm)
        woken () { awk '/ctxt/ { n += $2 } END { print n }' "${thread%comm}status"; }
        before=''
        until [ "$(woken)" = "$before" ]; do # it has just begun
            before=$(woken)
            sleep 0.2
        done
        for _ in {1..50}; do stat "$MNT/d" >/dev/null; ls "$MNT/d" >/dev/null; done
        expect "how often the thread was woken" "$before" "$(woken)"
    fi

    python3 storm.py "$BACK/d" $rounds &
    storm=$!
    while is_running $storm; do
        echo own >"$MNT/d/own"
        echo more >>"$MNT/d/n1" 2>/dev/null
        mv "$MNT/d/own" "$MNT/d/mine"
        cat "$MNT"/d/n2* >/dev/null 2>&1
    done
    wait $storm || fail "the storm failed"
    sees "what was written last" "cat '$MNT/d/last'" "the end"
    sees "the names" "ls '$MNT/d' | xargs" "$(ls "$BACK/d" | xargs)"
    sees "the modes and sizes" "stat -c '%n %a %s %h' '$MNT'/d/* | sed 's|.*/||' | cksum" \
        "$(stat -c '%n %a %s %h' "$BACK"/d/* | sed 's|.*/||' | cksum)"
    expect_match "events" '^[1-9][0-9]{2,}$' "$(counter watch-events)"

    python3 storm.py "$BACK/d" 1000000 &
    storm=$!
    told=$(counter watch-told)
    wait_until '[ "$(counter watch-told)" != "$told" ]'
    unmount
    kill $storm
    wait $storm 2>/dev/null
    expect_no_match "the log" " [EC] \[" "$(cat "$LOG")"
done
