#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A timeline goes on when the mount moves to another graph, and can be printed afterwards although
# the translators that it has seen are gone.
# builds: debug release
. "$(dirname "$0")/../lib.sh"

timeline () {
    "$WINDLASS" timeline "$@"
}
reload () {
    "$WINDLASS" reload "$MNT" >answer || fail "the reload fails: $(cat answer)"
}

printed () { # the text goes to the file `text`
    timeline stop "$MNT" -o out.json >said 2>&1 || fail "$(cat said)"
    expect_ok python3 "$SOURCE_DIR/tests/mount/trace/trace-events.py" out.json
    timeline cat "$MNT" --text >text || fail "no text"
    timeline cat "$MNT" --folded >folded || fail "no stacks"
}
shown () { # WHAT REGEX
    expect_match "$1" "$2" "$(cat text)"
}

# The move has the old graph write what it holds back, as a client of its own.
stack performance/io-cache
mount_volfile "$VOL"
echo one >"$MNT/one"
exec 7<>"$MNT/one"
expect_ok timeline start "$MNT"
stat "$MNT/missing" 2>/dev/null
stack encryption/rot-13 performance/io-cache
reload
mkdir "$MNT/directory"
printed
shown "a request of the old graph" 'posix: lookup = -1 ENOENT'
shown "the move's own" '^ +[0-9.]+ +[0-9.]+ +client \(on '
shown "a request of the new graph" 'posix: mkdir = 0'

# What is asked for by a pattern is found in each graph.
expect_ok timeline start "$MNT" --translator 'io-cache-*'
echo two >&7
stack performance/io-cache performance/read-ahead
reload
echo three >&7
stack performance/read-ahead
reload
echo four >&7
printed
shown "the first graph" 'io-cache-2: writev = 4'
shown "the second one" 'io-cache-1: writev = 6'
expect "the third one has none" 2 "$(grep -c '^request .*: writev ' text)"
expect_match "the stacks" '^fuse;io-cache-2:writev;' "$(cat folded)"
exec 7<&-
unmount
