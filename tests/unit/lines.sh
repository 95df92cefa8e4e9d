#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Sources in C fit a reader's screen: lines end at column 100, and files have fewer than 600 lines.
# Scripts are left out, since they have the messages that tests expect.
set -u
cd "$SOURCE_DIR" || exit 1
status=0

long=$(LC_ALL=C.UTF-8 grep -rnE --include='*.[ch]' '^.{101}' src xlators conform tests)
if [ -n "$long" ]; then
    echo "lines beyond column 100:"
    echo "$long"
    status=1
fi

files=0
while read -r file; do
    files=$((files + 1))
    lines=$(wc -l <"$file")
    [ "$lines" -lt 600 ] && continue
    echo "$file has $lines lines: it must have fewer than 600"
    status=1
done < <(find src xlators conform tests -name '*.[ch]')
[ $files -gt 400 ] || { echo "only $files sources were found"; status=1; }
exit $status
