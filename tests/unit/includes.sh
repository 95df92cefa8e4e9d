#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A room is a folder, and includes only its own headers and those of rooms on floors below. Only
# src/fuse knows libfuse, and a translator only xlator.h.
set -u
cd "$SOURCE_DIR" || exit 1
status=0

# From the ground up. Rooms of one line stand side by side: none of them includes another.
floors='
src/core/base
src/core/time src/core/data
src/core/table
src/core/edge
src/core/work src/core/cache
src/core/report src/rpc
src/xlator.h src/trace src/graph
src/control
src/meta src/fuse
src/cli
src/daemon conform
src/main.c
'

# room_of FILE: the room that a file is in.
room_of () {
    local room
    for room in $floors; do
        case $1 in "$room" | "$room"/*) echo "$room"; return ;; esac
    done
    echo "$1 is in no room" >&2
    status=1
}

# Each include of a header of ours: "FILE ROOM-OF-HEADER". Headers that stand in no room are for
# all: config.h, fops.def, xlator.h. A file finds a header of its own folder by its name alone.
includes () {
    grep -rnoE --include='*.[ch]' '^ *# *include *"[^"]+"' src conform |
        sed -nE \
        's,^([^:]+):[0-9]+:.*"((core/[a-z]+|trace|graph|rpc|control|meta|fuse|cli|daemon|conform)/[^"]+)"$,\1 \2,p' |
        while read -r file header; do
            case $header in conform/*) ;; *) header=src/$header ;; esac
            echo "$file $header"
        done
}

declare -A floor_of
number=0
while read -r line; do
    number=$((number + 1))
    for room in $line; do floor_of[$room]=$number; done
done <<<"$floors"

count=0
while read -r file header; do
    count=$((count + 1))
    from=$(room_of "$file")
    to=$(room_of "$header")
    [ "$from" = "$to" ] && continue
    [ "${floor_of[$to]:-99}" -lt "${floor_of[$from]:-0}" ] && continue
    echo "$file: $from may not include $header: $to is not on a floor below"
    status=1
done < <(includes | sort -u)
[ "$count" -gt 500 ] || { echo "only $count includes were found: the test doesn't see them";
    status=1; }

# is_own FILE HEADER: the header lies in the folder of FILE's translator.
is_own () {
    local header folder
    header=$(realpath -m --relative-to=. "$(dirname "$1")/$2")
    folder=$(cut -d/ -f1-3 <<<"$1")
    [[ $header == "$folder"/* && -e $header ]]
}

# A translator: xlator.h and the headers of its own folder; one that speaks to a server src/rpc too.
while IFS=: read -r file line text; do
    name=${text#*\"}
    name=${name%%\"*}
    [ "$name" = xlator.h ] && continue
    is_own "$file" "$name" && continue
    [[ $file == xlators/protocol/* && $name == rpc/* ]] && continue
    echo "$file:$line: a translator may include only xlator.h and its own headers (protocol/ also those of src/rpc), not $name"
    status=1
done < <(grep -rnE --include='*.[ch]' '^ *# *include *"' xlators tests/xlators)

libfuse=$(grep -rnE --include='*.[ch]' '^ *# *include *<fuse' src conform xlators tests/xlators |
    grep -v '^src/fuse/')
if [ -n "$libfuse" ]; then
    printf 'only src/fuse may include libfuse, but:\n%s\n' "$libfuse"
    status=1
fi
# A file that asks for HAVE_... includes config.h, itself or by one of these headers. Without it
# #ifdef takes the other branch, and the compiler says nothing.
headers=$(grep -rl --include='*.h' '^ *# *include *"config\.h"' src | sed 's,^src/,,' |
    paste -sd'|')
while read -r file; do
    grep -qE "^ *# *include *\"(config\.h|$headers)\"" "$file" && continue
    echo "$file asks for HAVE_..., and includes no config.h"
    status=1
done < <(grep -rlE --include='*.c' '^ *# *(el)?if.*\<HAVE_' src conform)
exit $status
