#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Kernel passthrough: the kernel reads and writes files by itself where no translator has to see
# their content; programs see no difference in content, and the daemon says what decided.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"
need_root
PASSTHROUGH=auto
chmod 755 "$TEST_DIR"

# dumped KEY: what the bridge has to say of it.
dumped () {
    sed -n "s/^$1 = //p" "$MNT/.meta/master/private" 2>/dev/null || fail "no $1"
}

why () {
    "$WINDLASS" explain "$MNT/$1" | sed -n 's/^kernel passthrough: //p'
}

echo hello >"$BACK/file"

stack
mount_volfile "$VOL" --log-level=DEBUG
why file | grep -q "doesn't offer it" && skip "needs Linux 6.9 with FUSE passthrough"
expect_match "where nobody is in the way" '^yes, when it is opened' "$(why file)"

# A daemon that is stopped answers nothing; the kernel needs no answer.
expect_ok "$PROGRAMS/passed" "$MNT/file" "$DAEMON"
expect "what was written without the daemon" 01234567abc "$(cat "$BACK/file")"
expect "its size in the mount" 11 "$(stat -c %s "$MNT/file")"
exec 3<>"$MNT/file"
# The kernel tells of the one before later than close(2) returns.
wait_until 'why file | grep -q "open once"'
expect_match "an open file" \
    '^yes, open once by passthrough until its last close, with the rights of root; later opens: yes: no translator' \
    "$(why file)"
exec 3>&-
expect_match "the log" "kernel passthrough of '/file': yes" "$(cat "$LOG")"
expect_ok "$PROGRAMS/passed" "$MNT"

# A store through a mapping, of which the daemon is not told, moves the times that stat shows once
# the file is closed, however long the kernel may keep attributes.
unmount
mount_volfile "$VOL" --attribute-timeout=600
truncate -s "$(getconf PAGESIZE)" "$BACK/mapped"
for text in 1 2 3 4 5; do
    touch -d 2001-01-01 "$MNT/mapped" # the kernel gets the times, too
    seen=$(python3 "$SOURCE_DIR/tests/mount/programs/store-mapped.py" "$MNT/mapped" $text before) ||
        fail "store-mapped.py"
    now=$(stat -c '%s %.9Y %.9Z' "$BACK/mapped" | tr -d .)
    expect_no_match "the times in the directory" ' 978307200000000000 ' "$now"
    expect "the times after store $text" "$now" "$seen"
done
why mapped | grep -q '^yes' || fail "the mapped file isn't passed: $(why mapped)"

# The writer decides what becomes of setuid: a writer other than root takes it away, also where root
# opened the file first.
for first in root user; do
    cp /bin/true "$BACK/program"
    chmod 6777 "$BACK/program"
    [ $first = user ] || exec 3<"$MNT/program"
    user sh -c 'echo "#" 1<>"$1"' sh "$MNT/program"
    expect "setuid after a write by a user, $first first" 777 "$(stat -c %a "$BACK/program")"
    [ $first = user ] || exec 3<&-
done
chmod 4755 "$MNT/program"
echo "#" 1<>"$MNT/program"
expect "setuid after a write by root" 4755 "$(stat -c %a "$MNT/program")"
unmount

# Translators on the way, by whether they have to see.
# with ANSWER TYPE[,OPTION=VALUE]...
with () {
    local answer=$1
    shift
    stack "$@"
    mount_volfile "$VOL"
    expect_match "below $*" "$answer" "$(why file)"
    if [[ $answer = ^yes* ]]; then
        expect_ok "$PROGRAMS/passed" "$MNT"
    else
        expect_ok cp /bin/true "$MNT/copy"
    fi
    [[ $answer = ^yes* ]] && [ "$(dumped passthrough_opens)" = 0 ] &&
        fail "nothing was passed below $*"
    [[ $answer = ^no* ]] && [ "$(dumped passthrough_opens)" != 0 ] &&
        fail "something was passed below $*"
    unmount
}
with "^no, volume 'rot-13-1' rotates the file's bytes" encryption/rot-13
with "^no, volume 'trace-1' traces its reads or writes" debug/trace
with '^yes' debug/trace,include-ops=lookup
with '^yes' performance/io-threads performance/open-behind performance/nl-cache \
    features/utime,noatime=off
with "^no, volume 'md-cache-2' caches the file's attributes" performance/io-threads \
    performance/md-cache
[ "$BUILD_NAME" = debug ] || exit 0
with "^no, volume 'write-behind-1' delays the file's writes" performance/write-behind
with "^no, volume 'error-gen-1' may make" debug/error-gen
with "^no, volume 'io-stats-1' counts" debug/io-stats
with '^yes' debug/io-stats,allow-passthrough=on
