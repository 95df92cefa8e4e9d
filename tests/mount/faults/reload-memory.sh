#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The graph that a mount has left is freed with its last open file and lock: a hundred moves, with
# files that stay open over all of them, leave the daemon with the memory that it had.
# builds: release only
# through: device
. "$(dirname "$0")/../lib.sh"
need_command flock

number () { # KEY: of the allocator
    sed -n "s/^mallinfo_$1=//p" "$MNT/.meta/mallinfo"
}
moved=0
move () { # between two shapes, as often as told
    local i
    for ((i = 0; i < $1; i++)); do
        moved=$((moved + 1))
        if [ $((moved % 2)) = 1 ]; then
            stack performance/write-behind performance/io-cache performance/md-cache
        else
            stack performance/io-cache performance/quick-read performance/open-behind
        fi
        "$WINDLASS" reload "$MNT" >answer || fail "move $moved: $(cat answer)"
        grep -q '^the mount has moved' answer || fail "move $moved: $(cat answer)"
        cat "$MNT/open" "$MNT/dir/file" >/dev/null
        [ ! -e /dev/fd/7 ] || echo "$moved" >&7
    done
}

stack performance/io-cache performance/quick-read performance/open-behind
mount_volfile "$VOL"
mkdir "$MNT/dir"
echo one >"$MNT/dir/file"
exec 7<>"$MNT/open" 8<"$MNT/dir"
move 20
before=$(number uordblks)
move 100
[ -n "$before" ] || fail "no numbers: $(cat "$MNT/.meta/mallinfo")"
(wait_until "[ \$((\$(number uordblks) - before)) -lt 100000 ]") ||
    fail "100 moves took $(($(number uordblks) - before)) bytes more than $before"
exec 7>&- 8<&-

# A removed file and a lock keep the old graph, and their ends free it.
ended () {
    grep -c 'no file uses the old graph any more; it has ended' "$LOG"
}
echo two >"$MNT/removed"
exec 7<>"$MNT/removed"
rm "$MNT/removed"
before=$(number uordblks)
move 1
expect_match "a removed file stays" '^1 files stay with the old graph' "$(cat answer)"
exec 7>&-
wait_until '[ "$(ended)" = 1 ]'
move 1
(wait_until "[ \$((\$(number uordblks) - before)) -lt 30000 ]") ||
    fail "what a removed file kept: $(($(number uordblks) - before)) bytes"
# A request that hangs in the present graph does not keep the old graph.
echo three >"$MNT/removed"
exec 7<>"$MNT/removed"
rm "$MNT/removed"
stack debug/delay-gen,delay-percentage=100%,delay-duration=3600000000,enable=readv
"$WINDLASS" reload "$MNT" >answer || fail "$(cat answer)"
dd if="$MNT/open" iflag=direct of=/dev/null bs=512 count=1 status=none 2>/dev/null 7>&- &
reader=$!
wait_until '"$WINDLASS" inflight "$MNT" | grep -q "waits for: the end of a delay"'
exec 7>&-
wait_until '[ "$(ended)" = 2 ]'
kill -9 $reader
wait $reader 2>/dev/null
unmount
