#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A folder is a layer and includes only layers below it: core <- graph <- fuse and control <- the program,
# core <- xlators.
# And only fuse knows libfuse.
set -u
cd "$SOURCE_DIR" || exit 1
status=0

# only FOLDER REGEX: what its files may include in quotes.
only () {
    local wrong
    wrong=$(grep -rnE --include='*.[ch]' '^ *# *include *"' "$1" | grep -vE "include *\"($2)\"")
    [ -z "$wrong" ] && return 0
    printf '%s may include only %s, but:\n%s\n' "$1" "$2" "$wrong"
    status=1
}

only src/core 'config\.h|fops\.def|xlator\.h|core/[a-z-]+\.h'
only src/trace 'config\.h|fops\.def|core/[a-z-]+\.h|trace/([a-z-]+/)?[a-z-]+\.h'
only src/graph 'config\.h|(core|graph)/[a-z-]+\.h'
only src/meta 'config\.h|xlator\.h|(core|graph|trace|meta)/[a-z-]+\.h'
only src/control '(core|graph|control)/[a-z-]+\.h'
only src/fuse 'config\.h|xlator\.h|(core|graph|fuse)/[a-z-]+\.h'

# A translator: xlator.h and the headers of its own folder.
while IFS=: read -r file line text; do
    name=${text#*\"}
    name=${name%%\"*}
    [ "$name" = xlator.h ] && continue
    [[ $name != */* && -e $(dirname "$file")/$name ]] && continue
    echo "$file:$line: a translator may include only xlator.h and its own headers, not $name"
    status=1
done < <(grep -rnE --include='*.[ch]' '^ *# *include *"' xlators tests/xlators)

libfuse=$(grep -rnE --include='*.[ch]' '^ *# *include *<fuse' src/core src/trace src/graph src/meta src/cli xlators tests/xlators)
if [ -n "$libfuse" ]; then
    printf 'only src/fuse may include libfuse, but:\n%s\n' "$libfuse"
    status=1
fi
# What configure found out is known to a file that includes config.h, itself or by one of these headers. Without it #ifdef takes the other
# branch, and nobody hears of it.
headers=$(grep -rl --include='*.h' '^ *# *include *"config\.h"' src | sed 's,^src/,,' | paste -sd'|')
while read -r file; do
    grep -qE "^ *# *include *\"(config\.h|$headers)\"" "$file" && continue
    echo "$file asks for HAVE_..., and includes no config.h"
    status=1
done < <(grep -rlE --include='*.c' '^ *# *(el)?if.*\<HAVE_' src)
exit $status
