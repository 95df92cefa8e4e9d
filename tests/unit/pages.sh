#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Manual pages, as their sources are: groff and, where it is installed, mandoc have no warning; what
# a page refers to of ours exists; README lists each page of the program.
. "$(dirname "$0")/../mount/lib.sh"

status=0
wrong () {
    echo "$*"
    status=1
}

ours='windlass|mount\.windlass|volfile|fops|'
ours+='(storage|cluster|debug|performance|features|protocol|system|meta|encryption)-'
pages=0
for source in "$SOURCE_DIR"/man/*.in; do
    page=${source##*/}
    page=${page%.in}
    pages=$((pages + 1))
    # mandoc, the reader of Alpine and others, ignores macros in a table's cell.
    cells=$(sed -n '/T{$/,/^T}/ { /^\.ad l$/d; /^\./p }' "$source")
    [ -z "$cells" ] || wrong "$page: macros in a cell of a table, where \\fB...\\fR works: $cells"
    if command -v groff >/dev/null; then
        said=$(LC_ALL=C.UTF-8 groff -man -t -Tutf8 -ww -z -rLL=78n "$source" 2>&1)
        [ -z "$said" ] || wrong "$page: groff: $said"
    fi
    if command -v mandoc >/dev/null; then
        said=$(mandoc -Tlint -W warning "$source" 2>&1)
        [ -z "$said" ] || wrong "$page: mandoc: $said"
    fi
    while read -r name; do
        [ -e "$SOURCE_DIR/man/${name/(/.}.in" ] || wrong "$page refers to $name), which isn't ours"
    done < <(sed 's/\\-/-/g; s/"//g; s/\\f[A-Z]//g; s/ (/(/g' "$source" |
        grep -oE "\b($ours)[a-z0-9-]*\([1578]" | sort -u)
    case $page in windlass*)
        grep -q "${page%.*}(${page##*.})" "$SOURCE_DIR/README" || wrong "README doesn't list $page" ;;
    esac
done
[ $pages -ge 30 ] || wrong "only $pages pages were found"
exit $status
