#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Many processes read and write .meta at once, while requests run, options are reloaded and, in the
# end, the mount goes away.
# builds: release tsan debug
# longer
. "$(dirname "$0")/../lib.sh"
write () {
    stack "test/online,number=$1,text=$1" debug/error-gen,failure=0 debug/fault encryption/rot-13 \
        debug/delay-gen
}
write 1
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0 --lru-limit=1
M=$MNT/.meta

# again COMMAND...: until there is nothing more of it; whatever it says.
again () {
    while [ -e "$M" ]; do "$@" >/dev/null 2>>"$TEST_DIR/errors" || true; done
}
levels () {
    for level in 9 unset 9 7; do
        for xl in rot-13-4 delay-gen-5 posix; do echo $level >"$M/graphs/active/$xl/loglevel"; done
        echo $level >"$M/logging/loglevel"
    done
    echo 7 >"$M/logging/loglevel"
}
work () {
    echo more >>"$MNT/file"
    cat "$MNT/file"
    ls -l "$MNT"
    rm -f "$MNT/file"
}
again work &
again levels &
again find "$M" -ls &
again grep -r . "$M" &
again cp -rT "$M" "$TEST_DIR/copy" &
again cat "$M/frames" "$M/graphs/active/volfile" &
last=$(amount 6 15)
for n in $(seq 2 "$last"); do
    write "$n"
    "$WINDLASS" reload "$MNT" >/dev/null || fail "a reload fails"
    expect "an option" "$n" "$(cat "$M/graphs/active/online-1/options/number")"
    expect "another" "$n" "$(grep -o '^text = [0-9]*' "$M/graphs/active/online-1/settings" |
        cut -d' ' -f3)"
    expect_match "the volfile" "^    option text $n\$" "$(cat "$M/graphs/active/volfile")"
done
write_fewer () {
    stack "test/online,number=99" debug/error-gen,failure=0 debug/fault encryption/rot-13 \
        debug/delay-gen
}
exec 3<"$M/graphs/active/online-1/options/text"
write_fewer
expect_ok "$WINDLASS" reload "$MNT"
expect "options that are set no more" number "$(ls "$M/graphs/active/online-1/options")"
expect_error 'No such file' cat "$M/graphs/active/online-1/options/text"
expect "what was opened before" "$last" "$(cat <&3)"
exec 3<&-

# The mount goes away under all of it.
umount -l "$MNT"
wait
wait_until "! is_running $DAEMON"
DAEMON=''
expect_no_match "the log" ' [CEMA] \[' "$(grep -a ' 0-[^ ]*: ' "$LOG")"
expect_match "the log" 'was unmounted, shutting down' "$(grep -a unmounted "$LOG")"
