#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Names of any bytes work, and none of them can write lines of its own to the log or the terminal.
# builds: debug
. "$(dirname "$0")/../lib.sh"

names=($'new\nline' $'[2000-01-01 00:00:00.000000 +0000] C [x.c:1:x] 0-x: forged\n[2000-01-01 00:00:00.000000 +0000] C forged'
    $'\xff\xfe' $'\xc2\x9b31mC1' $'\xe2\x80\xaebidi\xe2\x81\xa6' $'\x01\x1b[31mred' '%s%n%x' '...' '-rf' ' ' $'a\tb' '$(id)' "'" '"' '\' \
        'end-volume' "$(printf 'x%.0s' {1..255})")

stack encryption/rot-13
mount_volfile "$VOL" -L TRACE
cd "$MNT" || exit 1
for name in "${names[@]}"; do
    mkdir -- "./$name" || fail "can't make '$name'"
    echo text >"./$name/$name" || fail "can't write '$name'"
    ln -s -- "$name" "./$name/link"
    [ "$(readlink -- "./$name/link")" = "$name" ] || fail "the link to '$name' reads otherwise"
    setfattr -n "user.${name:0:100}" -v 1 "./$name" 2>/dev/null
    mv -- "./$name/$name" "./$name/other" && mv -- "./$name/other" "./$name/$name"
done
expect "the names" "${#names[@]}" "$(find . -mindepth 1 -maxdepth 1 -type d -printf x | wc -c)"
diff -r "$BACK" . >/dev/null 2>&1 && fail "rot-13 did nothing"
expect "the same names in the directory" "$(cd "$BACK" && find . -print0 | sort -z | md5sum)" \
    "$(find . -print0 | sort -z | md5sum)"
kill -USR1 "$DAEMON"
wait_until "grep -q 'state dumped' '$LOG'"
rm -f "$(sed -n "s/.*state dumped to '\(.*\)'.*/\1/p" "$LOG")"
rm -r -- ./*
cd "$TEST_DIR" || exit 1
unmount
# A line begins with its time, or belongs to the text of the graph.
line='^\[20[0-9-]* [0-9:.]* +0000\] [A-Z] \[[a-z0-9-]*\.[ch]:[0-9]*:[a-z_0-9]*\] 0-'
expect "lines that are none of the log's" "" \
    "$(grep -av "$line\|^ *[0-9]*: \|^+-*+\$" "$LOG" | cat -v | head -n 5)"
expect "bytes that are for a terminal" "" \
    "$(LC_ALL=C grep -a "$(printf '[\001-\010\013-\037\177]')" "$LOG" | cat -v | head -n 3)"
expect_no_match "forged lines" '^\[2000' "$(cat "$LOG" | tr -d '\0')"
expect "C1 controls and changes of direction" "" "$(LC_ALL=C grep -aP \
    '\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|[\xfe\xff]' "$LOG" | cat -v | head -n 3)"

# A value of a volfile, on the terminal.
printf 'volume posix\ntype storage/posix\noption directory "/no\xc2\x9b\x1b[31m"\nend-volume\n' >"$VOL"
expect_no_match "check, on the terminal" $'\x1b|\xc2\x9b' "$("$WINDLASS" check "$VOL" 2>&1)"
