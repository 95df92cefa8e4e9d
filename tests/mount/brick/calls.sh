#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Calls of a server: the holder of a lock learns that another client waits for it, a state dump is
# written at the server's wish, and other calls, whatever they hold, do no harm.
. "$(dirname "$0")/lib.sh"
need_command setfattr

# The mount's server is the relay, the other mount's the brick itself.
locker () {
    brick_volfile one
    printf 'volume locker\n    type test/locker\n    subvolumes one\nend-volume\n' >>"$VOL"
}

brick one
locker
mv "$VOL" other.vol
relay one
locker
mount_volfile "$VOL"
mkdir other
"$WINDLASS" -f other.vol -l other.log --io-uring=off other || fail "the other mount failed"
touch "$MNT/file"

# The first mount takes the lock, and hears that the other waits. GlusterFS 10.3 tells this of
# inodelks, and of entrylks never, so the relay does.
expect_ok setfattr -n user.inodelk -v data "$MNT/file"
setfattr -n user.inodelk -v data other/file &
wait_until "grep -q 'contended: inodelk of [0-9a-f-]*, domain .data., name (none)' '$LOG'"
kill $!
wait $! 2>/dev/null
expect_no_match "the log of the mount that waits" contended "$(cat other.log)"

root=00000000000000000000000000000001
tell_client call 11 $root 00000001 00000007 00000004 6e616d65 00000001 64000000 00000000
wait_until "grep -q 'contended: entrylk of 0.*-0*1, domain .d., name name' '$LOG'"
tell_client call 11 $root 00000001 00000007 00000000 00000001 64000000 00000000
wait_until "grep -q 'contended: entrylk of 0.*-0*1, domain .d., name (none)' '$LOG'"

# A dump, at most one in ten seconds.
tell_client call 9
wait_until "grep -q \"state dumped to\" '$LOG'"
tell_client call 9
dump=$(sed -n "s/.*state dumped to '\(.*\)'.*/\1/p" "$LOG")
expect_match "the dump" 'brick=127.0.0.1:one' "$(cat "$dump")"

# Calls that are none: unknown, empty, cut, too long, texts with a NUL.
flock="00000001 00000000 0000000000000000 0000000000000000 00000007 00000000"
: >"$LOG"
for call in 0 1 8 12 4294967295 9 10 11 5 "10 $root" "11 $root 00000001 00000007" \
    "10 $root $flock 00000007 00000004 61006200 00000000" \
    "10 $root $flock 00000007 7fffffff" \
    "11 $root 00000001 00000007 00000002 61000000 ffffffff" \
    "11 $root 00000001 00000007 00000002 00610000 00000001 64000000 00000000" \
    "11 $root 00000001 00000007 00000100 $(printf '61%.0s' {1..256}) 00000001 64000000 00000000"; do
    # shellcheck disable=SC2086 # words
    tell_client call $call
done
tell_client call 11 $root 00000001 00000007 00000001 6e000000 00000003 656e6400 00000000
wait_until "grep -q \"contended: entrylk .*domain 'end', name n\" '$LOG'"
expect "how many locks the log names" 1 "$(grep -c contended: "$LOG")"
for _ in {1..3000}; do
    printf 'call 11 %s 00000001 00000007 00000001 6e000000 00000003 656e6400 00000000\n' $root
done >&"${RELAY[1]}"
expect_ok stat "$MNT/file"
expect "dumps" 1 "$(ls "${dump%/*}" | grep -c "windlassdump\.$DAEMON\.")"
umount other
unmount
