#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The files that README leads its reader through exist, and the source that it prints is theirs.
set -u
cd "$SOURCE_DIR" || exit 1
status=0

files=0
while read -r file; do
    files=$((files + 1))
    [ -e "$file" ] && continue
    echo "README names '$file', which doesn't exist"
    status=1
done < <(grep -oE '\b(src|xlators|volfiles|tests|doc|tools|conform|man)/[A-Za-z0-9_./-]*\w' README |
    sort -u)

# Lines of README from one that is FIRST to one that is LAST, without their indentation.
printed () { # FIRST LAST
    sed -n "/^    $1\$/,/^    $2\$/p" README | sed 's/^    //'
}
theirs () { # FIRST LAST FILE
    sed -n "/^$1\$/,/^$2\$/p" "$3"
}
# FIRST LAST FILE: README prints these lines of FILE.
expect_printed () {
    [ -n "$(printed "$1" "$2")" ] && [ "$(printed "$1" "$2")" = "$(theirs "$1" "$2" "$3")" ] && return
    echo "README prints other lines than $3 has:"
    diff <(printed "$1" "$2") <(theirs "$1" "$2" "$3")
    status=1
}
expect_printed 'FOP (truncate)' '    ARG (DICT, xdata)' src/fops.def
expect_printed 'read_only_refuses.*' '};' xlators/features/read-only/read-only.c
[ $files -ge 10 ] || { echo "README names only $files files"; status=1; }
exit $status
