#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A timeline of a volume can be printed after a heal, and after the volume has got another shape:
# the translators that made the calls are gone, and so are those of the old graph.
# builds: debug
. "$(dirname "$0")/lib.sh"

printed () { # ...all formats; the text goes to the file `text`
    "$WINDLASS" timeline stop "$MNT" -o out.json >said 2>&1 || fail "$(cat said)"
    "$WINDLASS" timeline cat "$MNT" --text >text || fail "no text"
    "$WINDLASS" timeline cat "$MNT" --folded >folded || fail "no stacks"
    expect_ok python3 "$SOURCE_DIR/tests/mount/trace/trace-events.py" out.json
}
is_shown () { # REGEX: a line of the text, and not too late
    expect_match "$1" "$1" "$(cat text)"
}

bricks_begin
replicate_volfile
mount_volfile "$VOL"
echo one >"$MNT/one"

expect_ok "$WINDLASS" timeline start "$MNT"
expect_ok "$WINDLASS" heal "$MNT"
printed
is_shown 'client \(on '
is_shown '^ *request .*, windlass itself, uid 0, '
expect_no_match "a number that is no process" 'process -' "$(cat text)"
is_shown 'LOOKUP 127.0.0.1:c2$'

# The calls before and after the move are on the tracks of their bricks.
expect_ok "$WINDLASS" timeline start "$MNT"
stat "$MNT/missing" 2>/dev/null
printf 'volume top\n    type performance/io-cache\n    subvolumes r\nend-volume\n' >>"$VOL"
"$WINDLASS" reload "$MNT" >answer || fail "the reload fails: $(cat answer)"
mkdir "$MNT/directory"
printed
is_shown 'r: lookup = -1 ENOENT'
is_shown 'top: mkdir = 0|r: mkdir = 0'
is_shown 'MKDIR 127.0.0.1:c0$'
unmount
