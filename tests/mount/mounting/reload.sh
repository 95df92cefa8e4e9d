#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Options that may change while it is mounted are read again from the volfile: all that changed, or
# nothing.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"

write () {
    stack "test/online,$1" "test/online${2+,$2}"
}

values () {
    "$WINDLASS" tell "$MNT" "${1-online-1}" show | tr '\n' ' '
}

# refused WHAT REGEX: a reload changes nothing, and says why.
refused () {
    local before
    before=$("$WINDLASS" tell "$MNT" - graph; values; values online-2)
    expect_error "$2" "$WINDLASS" reload "$MNT"
    expect_match "what is said of $1" '^nothing was changed$' "$("$WINDLASS" reload "$MNT" 2>&1)"
    expect "the graph after $1" "$before" \
        "$("$WINDLASS" tell "$MNT" - graph; values; values online-2)"
}

write number=1,text=one
mkdir elsewhere
cd elsewhere || exit 1
# Found again by a daemon that is in another folder.
mount_volfile ../test.vol --attribute-timeout=0 --xlator-option posix.max-hardlinks=7
cd .. || exit 1
expect "values at the start" "number=1 fixed=1 text=one " "$(values)"
expect "nothing new" "no option changed" "$("$WINDLASS" reload "$MNT")"

# While requests run.
for _ in 1 2; do
    (cd "$MNT" && until [ -e stop ]; do stat . file >/dev/null 2>&1; done) &
done
for n in {2..20}; do
    write number="$n",text="$n"
    "$WINDLASS" reload "$MNT" >answer || fail "a reload fails: $(cat answer)"
    expect "values after reload $n" "number=$n fixed=1 text=$n " "$(values)"
done
expect_match "what is said" "^volume 'online-1': option 'number': '19' -> '20'$" "$(cat answer)"
expect_match "what is said" "^volume 'online-1': option 'text': '19' -> '20'$" "$(cat answer)"
expect "lines of it" 2 "$(wc -l <answer)"
touch "$BACK/stop"
wait
expect_match "the graph" 'option number 20$' "$("$WINDLASS" tell "$MNT" - graph)"

# Back to the default; the command line still wins.
POSIX_OPTIONS=max-hardlinks=9 write number=20
expect "what is said" "volume 'online-1': option 'text': '20' -> unset" \
    "$("$WINDLASS" reload "$MNT")"
expect "values" "number=20 fixed=1 text= " "$(values)"

# A volume's log level.
write number=20,log-level=TRACE
expect_ok "$WINDLASS" reload "$MNT"
stat "$MNT" >/dev/null
expect_match "the log" ' T \[.*-online-1: ' "$(cat "$LOG")"
write number=20
expect_match "what is said" "option 'log-level': 'TRACE' -> unset" "$("$WINDLASS" reload "$MNT")"

# All or nothing.
write number=101
refused "a bad value" \
    "$VOL:[0-9]+:[0-9]+: error: volume 'online-1': option 'number' must be 0 to 100, got '101'"
write number=5,refuse=on text=taken-and-given-back
refused "a translator that refuses" \
    "volume 'online-1' refuses its new options: Device or resource busy"
echo 'volume' >>"$VOL"
refused "a broken volfile" "error: "
rm "$VOL"
refused "no volfile" "'$VOL' can't be read again: there is no such file any more"
mkfifo "$VOL"
refused "a pipe" "there is no such file any more"
rm "$VOL"

# What a running translator can't take over makes a new graph: new-shape.sh.
moved () {
    "$WINDLASS" reload "$MNT" >answer 2>&1 || fail "a reload fails: $(cat answer)"
    expect_match "what is said of $1" "$2" "$(cat answer)"
    expect_match "what is said of $1" "^the mount has moved to its new graph: " "$(cat answer)"
}

write number=20,fixed=2
moved "a fixed option" "^$VOL:[0-9]+: volume 'online-1': option 'fixed': '1' -> '2'$"
expect "values after a fixed option" "number=20 fixed=2 text= " "$(values)"

# Every option that changed is told, also with a new graph, and with a new shape.
stack test/online,number=21,fixed=3,text=new test/online,number=4,fixed=5
moved "several options" "^$VOL:[0-9]+: volume 'online-1': option 'fixed': '2' -> '3'$"
expect_match "an option beside it" "^volume 'online-1': option 'number': '20' -> '21'$" \
    "$(cat answer)"
stack test/online,number=22,fixed=3,text=new test/online,number=6,fixed=7
moved "a second volume" "volume 'online-2': option 'fixed': '5' -> '7'$"
expect "how many options are told" 3 "$(grep -c ': option ' answer)"
stack test/online,number=20
moved "one option" "volume 'online-2' of type 'test/online' is not in the graph any more$"
expect_match "an option with a new shape" "option 'fixed': '3' -> '1'" "$(cat answer)"
stack "test/online,number=5" test/pass
moved "another type" "volume 'pass-2' of type 'test/pass' is new in the graph$"
stack "test/online,number=5"
moved "a volume less" "volume 'pass-2' of type 'test/pass' is not in the graph any more$"
sed -i 's/online-1/other/' "$VOL"
moved "another name" "volume 'other' of type 'test/online' is new in the graph$"
expect "values after another name" "number=5 fixed=1 text= " "$(values other)"
sed -i 's/test\/online/test\/pass/; /option number/d' "$VOL"
moved "another type of one volume" "volume 'other': type 'test/online' -> 'test/pass'$"
write number=20
moved "all of it back" "volume 'online-1' of type 'test/online' is new in the graph$"

# SIGHUP opens the log anew, and does the same; problems are in the log.
write number=9
mv "$LOG" "$LOG.1"
kill -HUP "$DAEMON"
wait_until "grep -q \"reload: volume 'online-1': option 'number': '20' -> '9'\" '$LOG'"
expect "values after SIGHUP" "number=9 fixed=1 text= " "$(values)"
echo nonsense >"$VOL"
kill -HUP "$DAEMON"
wait_until "grep -q 'reload: nothing was changed' '$LOG'"
expect "values after SIGHUP with a bad volfile" "number=9 fixed=1 text= " "$(values)"
unmount

# What came through a pipe can't be read again; SIGHUP doesn't complain each time.
write number=1
"$WINDLASS" -f - -l "$LOG" -p "$TEST_DIR/pid" "$MNT" <"$VOL" || fail "not mounted"
DAEMON=$(cat "$TEST_DIR/pid")
refused "standard input" \
    "'-' can't be read again: it was not read from a file, but from the standard input"
mv "$LOG" "$LOG.2"
kill -HUP "$DAEMON"
wait_until "[ -e '$LOG' ]"
expect_ok "$WINDLASS" counts "$MNT"
expect "the new log" "" "$(cat "$LOG")"
unmount
