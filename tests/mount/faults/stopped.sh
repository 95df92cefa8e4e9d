#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A daemon has read requests and is stopped: the callers wait in the kernel, even if they are killed.
# Commands that ask such a mount end all the same, and so does a shell that reads all their output.
# builds: debug
. "$(dirname "$0")/../lib.sh"

# ask NAME COMMAND...: runs it in the background. NAME.out gets its output and exit status when no
# process has the pipe of its output any more.
ask () {
    local name=$1
    shift
    (
        cd / # which is not in the mount
        out=$("$@" 2>&1)
        echo "exit status $?: $out" >"$TEST_DIR/$name.out"
    ) &
}

# told NAME REGEX
told () {
    wait_until "[ -s $1.out ]"
    expect_match "what '$1' says" "$2" "$(cat "$1.out")"
}

requests () {
    "$WINDLASS" inflight "$MNT" | grep -c '^request'
}

stack debug/fault
mkdir "$BACK/inside"
mount_volfile "$VOL"
expect_ok "$WINDLASS" fault "$MNT" - <<<$'statfs -> hang\nlookup -> hang'
ask again "$WINDLASS" -f "$VOL" -l "$TEST_DIR/log2" "$MNT"
ask inside "$WINDLASS" -f "$VOL" -l "$TEST_DIR/log2" "$MNT/inside"
ask explain timeout -s KILL 5 "$WINDLASS" explain "$MNT/file"
# On a slow machine a command may have lost its patience first; it says the same then.
wait_until '[ "$(requests)" = 3 ] || [ -n "$(compgen -G "*.out")" ]'
kill -STOP "$DAEMON"
told again "^exit status 1: .*mount point '$MNT' is already mounted .*does not answer"
told inside "^exit status 1: .*mount point '$MNT/inside': the file system there does not answer"
told explain "^exit status [0-9]*: .*the mount doesn't answer"
kill -CONT "$DAEMON"
expect_ok "$WINDLASS" fault "$MNT" --clear
wait
unmount
