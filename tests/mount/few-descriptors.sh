#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A daemon that may have few descriptors serves many files: it closes what nobody has open, and nobody sees EMFILE.
# builds: debug release asan
. "$(dirname "$0")/lib.sh"

(cd "$BACK" && mkdir dir && cd dir && seq -f 'file-%04g' 3000 | xargs touch && echo deep >file-1500)
for handles in auto descriptor; do
    POSIX_OPTIONS="handles=$handles" stack encryption/rot-13
    # The limit is inherited; the daemon may not raise it.
    ulimit -n 256
    (ulimit -n 64 && mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0) || exit 1
    DAEMON=$(cat pid)
    expect_match "the daemon's limit" 'open files +64 +64' "$(cat "/proc/$DAEMON/limits")"

    # 40 are open at once, others are listed and read meanwhile.
    for i in {10..49}; do
        eval "exec $((i + 10))<>'$MNT/dir/file-00$i'" || fail "can't open file $i"
    done
    expect "a listing with attributes" 3000 "$(ls -l "$MNT/dir" | grep -c '^-.* file-')"
    expect "what is read" qrrc "$(cat "$MNT/dir/file-1500")"
    expect "files by find" 3000 "$(find "$MNT/dir" -type f -size -2M | wc -l)"
    for i in {10..49}; do
        echo "$i" >&$((i + 10)) || fail "can't write to file $i"
    done
    for i in {10..49}; do
        eval "exec $((i + 10))>&-"
        expect "file $i" "$i" "$(cat "$BACK/dir/file-00$i")"
        : >"$BACK/dir/file-00$i"
    done

    # Above the limit there is an error, and it passes.
    for i in {10..99}; do
        eval "exec $((i + 10))<'$MNT/dir/file-00$i'" 2>/dev/null
    done
    for i in {10..99}; do
        eval "exec $((i + 10))<&-"
    done
    wait_until "echo later >>'$MNT/dir/later' 2>/dev/null"
    expect "files afterwards" 3001 "$(ls "$MNT/dir" | wc -l)"
    rm "$MNT/dir/later"
    unmount
done
