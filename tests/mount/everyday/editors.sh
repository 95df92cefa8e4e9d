#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Editors save a file in place, by a new file and a rename, and with a backup.
. "$(dirname "$0")/../lib.sh"
need_command sed

stack encryption/rot-13
mount_volfile "$VOL"
cd "$MNT" || exit 1
printf 'one\ntwo\n' >text
chmod 640 text

inode=$(stat -c %i text)
expect_ok sed -i 's/one/1/' text
expect "after sed -i" "1 two" "$(paste -sd' ' text)"
expect "its mode" 640 "$(stat -c %a text)"
[ "$(stat -c %i text)" != "$inode" ] || fail "sed -i made no new file"
expect_ok sed -i.bak 's/two/2/' text
expect "after sed -i.bak" "1 2,1 two" "$(paste -sd' ' text),$(paste -sd' ' text.bak)"

if command -v ed >/dev/null; then
    printf '$a\nthree\n.\nw\nq\n' | ed -s text || fail "ed failed"
    expect "after ed" "1 2 three" "$(paste -sd' ' text)"
fi
if command -v vim >/dev/null; then
    expect_ok vim -es -u NONE -c 'set backup backupcopy=no' -c '%s/2/TWO/' -c wq text
    expect_match "after vim" 'TWO' "$(cat text)"
fi
printf 'new' >text.tmp && mv text.tmp text
expect "after mv" new "$(cat text)"
cd "$TEST_DIR" || exit 1
expect "what the directory holds" arj "$(cat "$BACK/text")"
expect "no other files" "" "$(find "$BACK" -name '*.sw?' -o -name 'sed*')"
