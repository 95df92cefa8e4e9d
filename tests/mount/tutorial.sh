#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The session of the classic tutorial, as it is.
. "$(dirname "$0")/lib.sh"
need_fuse

cat >my.vol <<END
volume my-posix
    type storage/posix
    option directory $BACK
end-volume
volume my-rot13
    type encryption/rot-13
    subvolumes my-posix
end-volume
END

"$WINDLASS" --debug -f my.vol "$MNT" >terminal 2>&1 &
DAEMON=$!
wait_until "is_mounted || ! is_running $DAEMON"

echo hello >"$MNT/a_file"
expect "what the directory holds" uryyb "$(cat "$BACK/a_file")"
expect "what is read" hello "$(cat "$MNT/a_file")"

expect "the source that df shows" my.vol "$(df --output=source "$MNT" | tail -n 1 | sed 's|.*/||')"
expect "the size of the file system" "$(df -B1 --output=size "$BACK" | tail -n 1)" \
    "$(df -B1 --output=size "$MNT" | tail -n 1)"

expect_match "the final graph on the terminal" '^ +[0-9]+: +type encryption/rot-13$' "$(cat terminal)"
expect_match "its storage" '^ +[0-9]+: +option directory ' "$(cat terminal)"

unmount
expect "what is left in the directory" a_file "$(ls -A "$BACK")"
