#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's daemon has its socket in the user's own folder, replaces a socket that is left over, and
# goes without one where the folder may belong to another user.
. "$(dirname "$0")/lib.sh"

drop_root
export XDG_RUNTIME_DIR=$TEST_DIR/run
mkdir -p run
run=$XDG_RUNTIME_DIR/windlass
stack

# Left over under every number that the mount may get.
mkdir -m 700 "$run"
touch "$run"/0:{1..500}.sock
mount_volfile "$VOL"
wait_until '"$WINDLASS" counts "$MNT" | grep -qx requests=0'
sockets=$(find "$run" -type s | wc -l)
expect "sockets" 1 "$sockets"
unmount
expect "sockets after the end" "" "$(find "$run" -type s)"
rm -r "$run"

# without WHAT REGEX: the daemon mounts and works, its log says what is missing, and the folder gets
# no socket.
without () {
    rm -f "$LOG"
    mount_volfile "$VOL"
    expect_match "the log with $1" " W .*no control socket: .*$2.*will not work with this mount" \
        "$(cat "$LOG")"
    expect_error "can't be reached: it is gone, or could not make its socket" "$WINDLASS" counts \
        "$MNT"
    echo works >"$MNT/file"
    unmount
    expect "sockets with $1" "" "$(find run/ other -type s 2>/dev/null)"
}

mkdir -m 755 "$run"
without "a folder open to others" \
    "must belong to user $(id -u) and be open to nobody else, mode 0700; .* has mode 0755"
rmdir "$run"
mkdir -m 700 other
ln -s ../other "$run"
without "a link" "the folder '$run' is of no use: Not a directory|Too many levels of symbolic links"
rm "$run"
touch "$run"
without "a file" "the folder '$run' is of no use: Not a directory"
rm "$run"
XDG_RUNTIME_DIR=$TEST_DIR/nowhere
without "no folder" "is of no use: No such file or directory"
