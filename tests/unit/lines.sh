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

find src xlators conform tests -name '*.[ch]' -exec wc -l {} + | awk '
    $2 == "total" { next }
    { files++ }
    $1 >= 600 { print $2 " has " $1 " lines: it must have fewer than 600"; failed = 1 }
    END {
        if (files < 400) { print "only " files + 0 " sources were found"; failed = 1 }
        exit failed
    }' || status=1
exit $status
