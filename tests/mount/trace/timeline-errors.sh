#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass timeline with what is wrong: each is a clear message and status 1, and the mount goes on.
. "$(dirname "$0")/../lib.sh"

stack encryption/rot-13
mount_volfile "$VOL"

# refused REGEX ARGUMENT...: status 1, and it says why.
refused () {
    local regex=$1 out status
    shift
    out=$("$WINDLASS" timeline "$@" 2>&1 >printed)
    status=$?
    expect "the status of: timeline $*" 1 "$status"
    expect_match "what timeline $* says" "$regex" "$out"
    expect_match "it works on" '^content$' "$(cat "$MNT/file")"
}
echo content >"$MNT/file"

refused "no timeline is being recorded; begin with: windlass timeline start $MNT; .*timeline cat $MNT\$" stop "$MNT"
refused "there is no recorded timeline; begin with: windlass timeline start $MNT\$" cat "$MNT"
refused "there is no recorded timeline; begin with: windlass timeline start $MNT\$" clear "$MNT"
mkdir other
refused "'other' is not a mount point" start other
refused "is not a Windlass mount, but one of type 'proc'" start /proc
refused "nothing of that name" stop gone -o out
[ ! -e out ] || fail "a file was written"

# Filters that match nothing.
refused "no volume or type 'rot-13-2' in the graph; did you mean 'rot-13-1'\?" start "$MNT" \
    --translator rot-13-2
refused "no volume or type 'zzzzzzzz' in the graph; there are rot-13-1, posix" start "$MNT" \
    --translator 'posix,zzzzzzzz'
refused "'wirtev' is no operation; did you mean 'writev'\?" start "$MNT" --fop readv,wirtev
refused "--min must be .*, got 'soon'" start "$MNT" --min soon
refused "--slowest must be 1 to 100000, got '0'" start "$MNT" --slowest 0
refused "--memory must be .*, got '1KB'" start "$MNT" --memory 1KB
refused "no timeline is being recorded" stop "$MNT"
expect "what is so now" \
    "requests are recorded; end it, and print them, with: windlass timeline stop $MNT" \
    "$("$WINDLASS" timeline start "$MNT" --fop symlink)"
cat "$MNT/file" >/dev/null
refused 'the filters left none of [0-9]+ requests; the timeline has ended' stop "$MNT" -o out.json
[ ! -e out.json ] || fail "a file without anything in it was written"

# Twice; and nothing ends when the file can't be had.
expect_ok "$WINDLASS" timeline start "$MNT" --min 0 --translator '*/posix' --fop \
    readv,stat,lookup,open
refused "a timeline is being recorded already; end it with: windlass timeline stop $MNT\$" start \
    "$MNT"
refused "a timeline is being recorded; end it first with: windlass timeline stop $MNT\$" cat "$MNT"
refused 'a timeline is being recorded; end it first' clear "$MNT"
refused "'$TEST_DIR/gone/out.json' can't be written: No such file or directory" stop "$MNT" \
    -o "$TEST_DIR/gone/out.json"
refused "'other' can't be written: Is a directory" stop "$MNT" -o other

# A full disk: what was there stays, and the recording is still to be had.
refused "/dev/full' can't be written: No space left on device" stop "$MNT" -o /dev/full
[ -c /dev/full ] || fail "/dev/full was replaced"
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=4096 none small; then
    echo before >small/out.json
    refused "small/out.json.* can't be written: No space left on device" cat "$MNT" \
        -o small/out.json
    expect "the disk has what it had" "out.json before" "$(ls -A small) $(cat small/out.json)"
    umount small
fi
expect_ok "$WINDLASS" timeline cat "$MNT" -o out.json
[ -s out.json ] || fail "nothing was written"

# What is no command line is told from what fails.
for wrong in 'begin MNT' 'start' 'start MNT MNT' 'stop MNT --fop stat' 'start MNT -o x' \
    'stop MNT --text --folded' 'start MNT --nonsense'; do
    # shellcheck disable=SC2086
    "$WINDLASS" timeline ${wrong//MNT/$MNT} >/dev/null 2>&1
    expect "status of 'timeline $wrong'" 64 $?
done
expect_match "hostile words" "can be told start, stop and clear, not" \
    "$("$WINDLASS" tell "$MNT" - timeline <(printf 'x\0y') 2>&1)"

# A mount that ends while it records.
expect_ok "$WINDLASS" timeline start "$MNT"
cat "$MNT/file" >/dev/null
unmount
