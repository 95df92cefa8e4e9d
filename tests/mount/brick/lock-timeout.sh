#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A lock of the file system's own parts whose grant does not come fails after frame-timeout, and is
# given back: at once, as the grant may have been lost on its way, and when the grant comes later. A
# program's lock has no such limit.
. "$(dirname "$0")/lib.sh"
need_command setfattr python3

INODELK=29 ENTRYLK=31 # procedures

brick one
for name in one relayed; do
    [ $name = one ] || relay one
    brick_volfile one frame-timeout=2
    printf 'volume locker\n    type test/locker\n    subvolumes one\nend-volume\n' >>"$VOL"
    mv "$VOL" $name.vol
done
mkdir other
mount_volfile relayed.vol
"$WINDLASS" -f one.vol -l other.log --io-uring=off other || fail "the other mount failed"
touch "$MNT/file"

# lock WHERE ATTRIBUTE VALUE: prints nothing, or the error.
lock () {
    timeout 20 setfattr -n "user.$2" -v "$3" "$1/file" 2>&1 | sed 's/.*: //'
}
for kind in "inodelk $INODELK" "entrylk $ENTRYLK"; do
    read -r what procedure <<<"$kind"

    # A program is a new owner, so it waits for a lock that an earlier one has.
    tell_client lose "$procedure"
    expect "a lost grant of an $what" 'Connection timed out' "$(lock "$MNT" "$what" lost)"
    expect "the lock after it" '' "$(lock "$MNT" "$what" lost)"

    # The other mount's lock ends with its connection, after the first mount has given up.
    expect "the other mount's $what" '' "$(lock other "$what" late)"
    expect "a late grant of an $what" 'Connection timed out' "$(lock "$MNT" "$what" late)"
    umount other
    "$WINDLASS" -f one.vol -l other.log --io-uring=off other || fail "the other mount failed"
    expect "the lock after it" '' "$(lock "$MNT" "$what" late)"
done
expect_match "why" 'did not answer INODELK within frame-timeout' "$("$WINDLASS" errors "$MNT")"

# The lock of a program.
exec 5>"$MNT/file"
exec 6>other/file
flock 6
flock 5 6>&- &
waiting=$!
wait_until "'$WINDLASS' inflight '$MNT' | grep -Eq 'a lock of brick .*, [4-9] s'"
exec 6>&-
wait $waiting || fail "a program's lock failed"
exec 5>&-
umount other
unmount
