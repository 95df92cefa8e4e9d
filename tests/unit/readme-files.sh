#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The files that README leads its reader through exist.
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
[ $files -ge 10 ] || { echo "README names only $files files"; status=1; }
exit $status
