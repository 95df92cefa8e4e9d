#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's daemon has its socket in the user's own folder, replaces a socket that is left over, and
# takes another folder where that one may belong to another user.
. "$(dirname "$0")/../lib.sh"

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

# instead WHAT REGEX: that folder gets no socket, its log says why, and another folder of the list
# has the socket.
instead () {
    rm -f "$LOG"
    mount_volfile "$VOL"
    expect_match "the log with $1" " I .*the control socket is '.*': .*$2" "$(cat "$LOG")"
    wait_until '"$WINDLASS" counts "$MNT" | grep -qx "pid=$DAEMON"'
    unmount
    expect "sockets with $1" "" "$(find run/ other -type s 2>/dev/null)"
}

mkdir -m 755 "$run"
instead "a folder open to others" \
    "must belong to user $(id -u) and be open to nobody else, mode 0700; .* has mode 0755"
rmdir "$run"
mkdir -m 700 other
ln -s ../other "$run"
instead "a link" "the folder '$run' is of no use: Not a directory|Too many levels of symbolic links"
rm "$run"
touch "$run"
instead "a file" "the folder '$run' is of no use: Not a directory"
rm "$run"
long=$TEST_DIR/run/$(printf 'x%.0s' {1..80})
mkdir -m 700 "$long"
XDG_RUNTIME_DIR=$long
instead "a long path" "is too long for the name of a socket"
