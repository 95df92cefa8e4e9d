#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# debug/delay-gen: delays do not block a thread. A hundred requests that are delayed at once are all
# done after about one delay, other requests are answered at once meanwhile, and neither a signal
# nor an unmount waits for a delay.
# builds: release debug tsan
# alone
. "$(dirname "$0")/../lib.sh"

milliseconds () {
    echo $(($(date +%s%N) / 1000000))
}

# How many requests are on their way.
delayed () {
    "$WINDLASS" counts "$MNT" | sed -n 's/^requests=//p'
}

for i in {1..100}; do echo "$i" >"$BACK/slow$i"; done
echo quick >"$BACK/quick"

stack "debug/delay-gen,delay-percentage=100%,delay-duration=3000000,enable=open"
mount_volfile "$VOL" --reader-thread-count 2
ls -l "$MNT" >/dev/null
begin=$(milliseconds)
for i in {1..100}; do cat "$MNT/slow$i" >>out & done
asked=$(milliseconds)
stat "$MNT/quick" >/dev/null
ls -l "$MNT" >/dev/null
meanwhile=$(($(milliseconds) - asked))
wait
took=$(($(milliseconds) - begin))
echo "100 delays of 3000 ms: $took ms; a listing meanwhile: $meanwhile ms"
expect "all were answered" 100 "$(sort -u out | wc -l)"
[ $took -ge 3000 ] || fail "a delay of 3000 ms took $took ms"
[ $took -lt 9000 ] || fail "100 delays of 3000 ms at once took $took ms"
[ $meanwhile -lt $took ] && [ $meanwhile -lt 2900 ] ||
    fail "a listing waited for them: $meanwhile ms"
unmount

# A signal doesn't wait for the delay, and neither does the end of the mount.
mount_volfile "$VOL" --xlator-option delay-gen-1.delay-duration=3600000000
cat "$MNT/slow1" >/dev/null &
reader=$!
wait_until '[ "$(delayed)" = 1 ]'
kill $reader
wait $reader
wait_until '[ "$(delayed)" = 0 ]'
cat "$MNT/slow2" >got &
reader=$!
wait_until '[ "$(delayed)" = 1 ]'
begin=$(milliseconds)
kill "$DAEMON"
wait_until "! is_running $DAEMON"
DAEMON=''
wait $reader
took=$(($(milliseconds) - begin))
echo "the end of the mount with a delay of an hour: $took ms"
[ $took -lt 5000 ] || fail "the end of the mount waited for a delay: $took ms"
expect_no_match "nothing was left unanswered" 'unanswered' "$(cat "$LOG")"
