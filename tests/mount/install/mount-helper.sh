#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# mount.windlass, as mount(8) calls it and as people do, and what it exits with. fstab.sh has
# mount(8) itself.
. "$(dirname "$0")/../lib.sh"
need_root
helper=$BUILD_DIR/src/mount.windlass
[ -e "$helper" ] || helper=$(find "$BUILD_DIR" -name mount.windlass | head -n 1)
[ -n "$helper" ] || fail "mount.windlass was not built"
export WINDLASS

stack encryption/rot-13
echo uryyb >"$BACK/file"
expect_ok sh "$helper" "$VOL" "$MNT" \
    -o "rw,_netdev,nofail,x-systemd.requires=a.service,log-file=$LOG,pid-file=$TEST_DIR/pid"
is_mounted || fail "it came back, but isn't mounted"
DAEMON=$(cat pid)
expect "what is read" hello "$(cat "$MNT/file")"
expect_no_match "the options" 'nosuid|nodev' \
    "$(awk -v at="$MNT" '$5 == at { print $6 }' /proc/self/mountinfo)"
unmount

expect_ok sh "$helper" "$VOL" "$MNT" -s -n -o "ro,user,log-file=$LOG,pid-file=$TEST_DIR/pid"
DAEMON=$(cat pid)
expect_error 'Read-only' touch "$MNT/new"
unmount

# expect_status STATUS REGEX ARGUMENT...: mount.windlass exits with it, and says what matches.
expect_status () {
    local status=$1 regex=$2 out
    shift 2
    out=$(sh "$helper" "$@" 2>&1)
    expect "exit status of mount.windlass $*" "$status" $?
    expect_match "what mount.windlass $* says" "$regex" "$out"
}
expect_status 1 'no mount option' "$VOL" "$MNT" -o nonsense
expect_status 1 'usage' "$VOL"
expect_status 1 'usage' "$VOL" "$MNT" -q
expect_status 1 "too many.*'more'" "$VOL" "$MNT" more
expect_status 32 'does not exist' "$VOL" missing
expect_status 32 "'$PWD/missing.vol' can't be read" missing.vol "$MNT"
expect_status 0 "-f $PWD/test.vol -o fsname=$PWD/test.vol,.*-- $MNT" -fv test.vol "$MNT"
WINDLASS=$PWD/missing expect_status 32 "$PWD/missing" "$VOL" "$MNT"
expect_status 0 '^usage' --help
expect_status 0 '^windlass [0-9]' -V
expect_status 0 "missing.vol' does not exist: ignored" -v missing.vol "$MNT" -o ro,nofail
expect "nofail without -v" '' "$(sh "$helper" missing.vol "$MNT" -o nofail 2>&1)"
expect_status 1 'no mount option' "$VOL" "$MNT" -o nofail,nonsense
for words in "$VOL $MNT -fv" "-fv $VOL $MNT" "-f $VOL -v $MNT" "-v -o ro $VOL $MNT -f"; do
    # shellcheck disable=SC2086 # words
    expect_status 0 "-f $VOL .*-- $MNT" $words
done
! is_mounted || fail "it is mounted, although that was fake"

# Options of other file systems. A word with a value is not taken for one that has none.
expect_status 1 "no mount option 'uid'; files have the owners" "$VOL" "$MNT" -o uid=1001
expect_status 1 "no mount option 'timeo'; 'windlass help" "$VOL" "$MNT" -o timeo=5
expect_status 1 "did you mean 'log-file'" "$VOL" "$MNT" -o logfile=/x
expect_ok sh "$helper" -s "$VOL" "$MNT" -o "helper=x,uid=1001,log-file=$LOG,pid-file=$TEST_DIR/pid"
DAEMON=$(cat pid)
unmount

# Made read-only and back, also where mount(8) would use calls that FUSE refuses.
expect_ok sh "$helper" "$VOL" "$MNT" -o "log-file=$LOG,pid-file=$TEST_DIR/pid"
DAEMON=$(cat pid)
options () {
    awk -v at="$MNT" '$5 == at { print $6, $NF }' /proc/self/mountinfo
}
expect_ok sh "$helper" "$VOL" "$MNT" -o remount,ro
expect_match "read-only" '^ro,.* ro,' "$(options)"
expect_error 'Read-only' touch "$MNT/new"
expect_ok sh "$helper" "$VOL" "$MNT" -o remount,rw,nosuid,allow_other # the last is as it was
expect_match "a fake remount" 'remount,ro -- ' \
    "$(sh "$helper" "$VOL" "$MNT" -fv -o remount,ro)"
expect_match "writable again" '^rw,nosuid,.* rw,' "$(options)"
expect_ok touch "$MNT/new"
expect_error "remount can't change 'attribute-timeout=5' of '$MNT'" sh "$helper" "$VOL" "$MNT" \
    -o remount,ro,attribute-timeout=5
expect_match "after a remount that was refused" '^rw,' "$(options)"
unmount

expect_ok sh "$helper" "$VOL" "$MNT" -o "ro,log-file=$LOG,pid-file=$TEST_DIR/pid"
DAEMON=$(cat pid)
expect_status 32 "its daemon was started with ro" "$VOL" "$MNT" -o remount,rw
expect_match "still read-only" '^ro,' "$(options)"
unmount
