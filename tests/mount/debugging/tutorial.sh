#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The session of the classic tutorial, as it is.
. "$(dirname "$0")/../lib.sh"
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

expect_match "the source that df shows" '^windlass:.*my.vol$' \
    "$(df --output=source "$MNT" | tail -n 1)"
expect "what df says of the volfile is of its own file system" "$(df --output=target "$TEST_DIR")" \
    "$(df --output=target my.vol)"
expect "the size of the file system" "$(df -B1 --output=size "$BACK" | tail -n 1)" \
    "$(df -B1 --output=size "$MNT" | tail -n 1)"

expect_match "the final graph on the terminal" '^ +[0-9]+: +type encryption/rot-13$' \
    "$(cat terminal)"
expect_match "its storage" '^ +[0-9]+: +option directory ' "$(cat terminal)"

unmount
expect "what is left in the directory" a_file "$(ls -A "$BACK")"
