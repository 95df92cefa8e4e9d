#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each promise in doc/security.md names tests, in the form (test: NAME, NAME); each of them exists.
set -u
doc=$SOURCE_DIR/doc/security.md
status=0
wrong () {
    echo "doc/security.md:$1"
    status=1
}

# A promise is a list item under a heading that begins with "Promised". Items are joined into lines:
# NUMBER TEXT.
promises=$(awk '
    /^#/ { flush(); promised = /^## Promised/ }
    promised && /^- / { flush(); line = NR; text = $0; next }
    promised && /^  [^ ]/ && line { text = text " " $0; next }
    { flush() }
    function flush () { if (line) print line ": " text; line = 0 }
    END { flush() }' "$doc")
count=$(grep -c . <<<"$promises")
[ "$count" -ge 10 ] || wrong " only $count promises are found in it"
while IFS= read -r promise; do
    names=$(sed -n 's/.*(test: \([^)]*\)).*/\1/p' <<<"$promise")
    [ -n "$names" ] || wrong "$promise: names no test"
    for name in ${names//,/ }; do
        [ -x "$SOURCE_DIR/tests/$name.sh" ] || [ -e "$SOURCE_DIR/tests/$name.c" ] ||
            wrong "$promise: there is no tests/$name.sh, nor $name.c"
    done
done <<<"$promises"
exit $status
