# SPDX-License-Identifier: LGPL-2.1-or-later
. "$(dirname "$0")/../lib.sh"

# entries: the former paths of all entries of user $1, sorted.
entries () {
    cat "$MNT/.Trash-${1-0}"/info/*.trashinfo 2>/dev/null | sed -n 's/^Path=//p' | sort | xargs
}

# settled: no stage waits to become entries.
settled () {
    wait_until '[ ! -d "$BACK/.windlass-trash" ] ||
        [ -z "$(find "$BACK/.windlass-trash" -mindepth 3 ! -path "*/trashes/*")" ]'
}
