#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# SIGTERM and SIGINT unmount and lose nothing of what is being written; SIGHUP reopens the log;
# SIGUSR1 dumps the state.
# builds: tsan debug
. "$(dirname "$0")/../lib.sh"

# Appends numbered lines until an error; prints how many were written. tee checks the result of
# close(), as a writer must.
load () {
    local n=0
    while echo "$n" | tee -a "$1" >/dev/null 2>&1; do
        n=$((n + 1))
    done
    echo "$n" >"$2"
}

for signal in TERM INT; do
    for options in --kernel-writeback-cache=off --kernel-writeback-cache=on; do
        rm -rf "${BACK:?}"/*
        # So that a file can't be opened below the mount point by mistake, after the end.
        mkdir "$BACK/dir"
        stack
        mount_volfile "$VOL" $options
        exec 7>"$MNT/open"
        echo kept >&7
        load "$MNT/dir/one" one &
        load "$MNT/dir/two" two &
        wait_until "[ -s '$BACK/dir/one' -a -s '$BACK/dir/two' ]"
        kill -$signal "$DAEMON"
        wait_until "! is_running $DAEMON"
        exec 7>&-
        wait
        ! is_mounted || fail "it is still mounted after SIG$signal"
        for file in one two; do
            # What failed may have been written; nothing that succeeded may be missing.
            seq 0 $(($(cat $file) - 1)) >expected
            expect "what was written to $file before SIG$signal" "" \
                "$(head -n "$(cat $file)" "$BACK/dir/$file" | diff - expected | head -n 5)"
        done
        expect "what was open" kept "$(cat "$BACK/open")"
        expect_match "the log" "received signum \\([0-9]+\\), shutting down" "$(cat "$LOG")"
        expect_no_match "the log" ' [CE] \[' "$(cat "$LOG")"
    done
done
