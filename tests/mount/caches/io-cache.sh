#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs over io-cache: a second read comes from memory, within its bound and by weight; changes
# are seen, through the mount at once and behind it after the timeout.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command python3
cache=performance/io-cache

number () { # KEY: as it stands
    sed -n "s/^$1 *= *//p" "$MNT"/.meta/graphs/active/io-cache-*/private
}

head -c 3000000 /dev/urandom >"$BACK/f"
head -c 3000000 /dev/urandom >"$BACK/g.tmp"
echo small >"$BACK/small.html"

# The second read asks nothing of storage, from any process; a change behind the mount is seen at
# the next lookup.
stack debug/io-stats $cache,cache-timeout=60,priority='*.tmp:0;*.html:3;*:1'
sed -i 's/;/,/g' "$VOL"
mount_volfile "$VOL" --direct-io-mode=on
expect_ok cmp "$BACK/f" "$MNT/f"
pages=$(number pages_read)
for i in 1 2 3; do cmp "$BACK/f" "$MNT/f" & done
wait
expect "pages that were read" "$pages" "$(number pages_read)"
expect_match "reads from memory" '^[1-9]' "$(number reads_hit)"
expect_ok cmp "$BACK/g.tmp" "$MNT/g.tmp"
expect "pages of what has no weight" "$pages" "$(number pages_read)"
expect_match "which is explained" "isn't kept: its weight is 0 \(priority\)" \
    "$("$WINDLASS" explain "$MNT/g.tmp")"
expect_match "and what is there" '23 pages of it are there now, of weight 1' \
    "$("$WINDLASS" explain "$MNT/f")"

# Written data is seen at once, at the end, in the middle, and after a truncate, through another
# file descriptor or by name.
python3 - "$MNT/f" <<'END' || fail "what was changed isn't seen"
import os, sys
name = sys.argv[1]
reader, writer = os.open(name, os.O_RDONLY), os.open(name, os.O_RDWR)
appender = os.open(name, os.O_WRONLY | os.O_APPEND)
size = os.fstat(reader).st_size
whole = bytearray(os.pread(reader, 1 << 20, 0))
for at in (0, 131071, 300000, 131072 * 3 - 1):
    os.pwrite(writer, b"xy", at)
    whole[at:at + 2] = b"xy"
    assert os.pread(reader, 1 << 20, 0) == whole, at
os.write(appender, b"the end")
assert os.pread(reader, 100, size) == b"the end"
os.ftruncate(writer, size + 200000)
assert os.pread(reader, 1 << 20, size + 7) == bytes(200000 - 7)
os.truncate(name, 1000)
assert os.pread(reader, 1 << 20, 0) == whole[:1000]
os.posix_fallocate(writer, 0, 5000)
assert os.pread(reader, 1 << 20, 0) == whole[:1000] + bytes(4000)
os.copy_file_range(writer, writer, 10, 0, 2000)
assert os.pread(reader, 10, 2000) == whole[:10]
os.close(os.open(name, os.O_WRONLY | os.O_TRUNC))
assert os.pread(reader, 10, 0) == b""
END
unmount

# Behind the mount: another size, the same size at another time, and the time of change set back.
stack $cache,cache-timeout=1
mount_volfile "$VOL" --direct-io-mode=on
for new in larger sMALL small; do
    expect "before" "$(cat "$BACK/small.html")" "$(cat "$MNT/small.html")"
    touch -r "$BACK/small.html" "$TEST_DIR/time"
    echo $new >"$BACK/small.html"
    touch -r "$TEST_DIR/time" "$BACK/small.html"
    wait_until '[ "$(cat "$MNT/small.html")" = $new ]'
done
printf other >"$BACK/other"
mv "$BACK/other" "$BACK/small.html"
wait_until '[ "$(cat "$MNT/small.html")" = other ]'

# Programs: an archive, and a repository if there is git.
mkdir "$TEST_DIR/tree"
for i in {1..60}; do head -c $((i * 7000)) /dev/urandom >"$TEST_DIR/tree/$i"; done
tar cf - -C "$TEST_DIR" tree | tar xf - -C "$MNT"
tar cf - -C "$MNT" tree | tar df - -C "$TEST_DIR" || fail "the archive differs"
unmount

# 9 MB go through 4 MB; less is allowed by a reload, which frees the rest at once.
stack $cache,cache-size=8MB,cache-timeout=60
mount_volfile "$VOL" --direct-io-mode=on
for i in 1 2 3; do head -c 3000000 /dev/urandom >"$BACK/big$i"; expect_ok cmp "$BACK/big$i" \
    "$MNT/big$i"; done
bytes=$(number bytes)
[ "$bytes" -gt 7000000 ] && [ "$bytes" -le $((8 << 20)) ] || fail "$bytes bytes are kept, of 8 MB"
sed -i 's/cache-size "8MB"/cache-size 4MB/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
[ "$(number bytes)" -le $((4 << 20)) ] || fail "$(number bytes) bytes are kept, of 4 MB"
expect_ok cmp "$BACK/big1" "$MNT/big1"
unmount

# The reader of that place gets the error, and the cache keeps nothing of it.
echo 'readv path /f* -> error EIO' >"$TEST_DIR/rules"
: >"$TEST_DIR/none"
head -c 300000 /dev/urandom >"$BACK/f"
stack "debug/fault,rules=$TEST_DIR/rules" $cache
mount_volfile "$VOL" --direct-io-mode=on
expect_error 'Input/output error' cat "$MNT/f"
expect_ok cmp "$BACK/big1" "$MNT/big1"
expect_ok "$WINDLASS" fault "$MNT" "$TEST_DIR/none"
expect_ok cmp "$BACK/f" "$MNT/f"
unmount

# The end of the mount while all are busy.
stack debug/delay-gen,delay-percentage=100%,delay-duration=300000,enable=readv $cache
mount_volfile "$VOL" --direct-io-mode=on
for i in 1 2 3; do cat "$MNT/big$i" >/dev/null 2>&1 & done
wait_until '[ "$(number pages_read)" -gt 0 ]'
kill "$DAEMON"
wait_until '! is_running "$DAEMON"'
wait

# Bad options.
for bad in cache-size=1MB cache-size=900TB cache-timeout=61 priority='*.html'; do
    stack $cache,$bad
    expect_error "test.vol:7:[0-9]+.*'${bad%%=*}' must be" "$WINDLASS" -f "$VOL" -l "$LOG" "$MNT"
done
stack $cache,min-file-size=2MB,max-file-size=1MB
expect_error "'min-file-size' must be at most 'max-file-size', 1MB, got '2MB'" "$WINDLASS" \
    -f "$VOL" -l "$LOG" "$MNT"
