#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mount with realms moves to other graphs while files are open: they go on, also those that were
# renamed; a removed one stays with its graph; each volume above and below counts on.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

sub=features/subdirectory
mkdir -p "$BACK/a/b" "$BACK/c"
shapes=(
    "debug/io-stats $sub,path=/a/b"
    "debug/io-stats $sub,path=/a/b performance/write-behind"
    "debug/io-stats $sub,path=/a/b test/names"
    "debug/io-stats $sub,path=/a $sub,path=/b"
    "debug/io-stats $sub,path=/a/b performance/md-cache performance/quick-read"
)
shape () {
    # shellcheck disable=SC2086
    stack ${shapes[$1]}
}

shape 0
mount_volfile "$VOL"
mkdir -p "$MNT/one/two"
exec 3>>"$MNT/one/two/log" 4>"$MNT/gone" 5<"$MNT/one"
rm "$MNT/gone"
for i in 1 2 3 4; do
    echo "round $i" >&3
    mv "$MNT/one" "$MNT/moved-$i"
    if [ $i != 3 ]; then
        shape $((i % 2))
    else
        shape 4
    fi
    answer=$("$WINDLASS" reload "$MNT") || fail "the reload of round $i fails: $answer"
    expect_match "the reload of round $i" "has moved to its new graph" "$answer"
    [ $i != 1 ] || expect_match "the removed file" "^1 files stay with the old graph" "$answer"
    echo "after $i" >&3
    echo "unseen $i" >&4
    [ -e "/proc/self/fd/5/two/log" ] || fail "the open directory leads nowhere in round $i"
    mv "$MNT/moved-$i" "$MNT/one"
done
expect "the file" "$(for i in 1 2 3 4; do printf 'round %s\nafter %s\n' $i $i; done)" \
    "$(cat "$BACK/a/b/one/two/log")"
exec 3>&- 4>&- 5<&-

# Another directory: names of the first one are gone, an open file stays what it is.
echo old >"$MNT/file"
exec 3<"$MNT/file"
echo new >"$BACK/c/other"
stack debug/io-stats "$sub,path=/c"
expect_ok "$WINDLASS" reload "$MNT"
expect "the other directory" other "$(ls "$MNT")"
expect "the open file" old "$(cat <&3)"
exec 3<&-
unmount

# Nothing that was acknowledged is lost when the daemon is killed.
shape 0
mount_volfile "$VOL"
dd if=/dev/urandom of="$TEST_DIR/data" bs=1M count=2 status=none
dd if="$TEST_DIR/data" of="$MNT/data" bs=64k conv=fsync status=none
kill -KILL "$DAEMON"
wait_until '! is_running "$DAEMON"'
umount -l "$MNT" 2>/dev/null || fusermount3 -uz "$MNT"
cmp "$TEST_DIR/data" "$BACK/a/b/data" || fail "data is lost"
