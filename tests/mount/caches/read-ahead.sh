#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs over read-ahead over slow storage: reading in order is many times faster, writes of other
# programs are seen, and errors reach the reader of that place.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command python3
slow=debug/delay-gen,delay-percentage=100%,delay-duration=20000,enable=readv
ahead=performance/read-ahead

number () { # KEY: as it stands
    sed -n "s/^$1 *= *//p" "$MNT"/.meta/graphs/active/read-ahead-*/private
}

milliseconds () { # COMMAND...
    local begun=${EPOCHREALTIME/[.,]/}
    "$@" >/dev/null 2>&1 || fail "failed: $*"
    echo $(((${EPOCHREALTIME/[.,]/} - begun) / 1000))
}

head -c 8M /dev/urandom >"$BACK/f"
head -c 8M /dev/urandom >"$BACK/g"
sum=$(md5sum <"$BACK/f")

# 64 reads of 128 KiB, 20 ms each: more than a second without.
stack $slow
mount_volfile "$VOL" --direct-io-mode=on
without=$(milliseconds dd if="$MNT/f" of=/dev/null bs=128k)
unmount
stack $slow $ahead
mount_volfile "$VOL" --direct-io-mode=on
for _ in {1..10}; do # the quickest: without it none can be as quick
    with=$(milliseconds dd if="$MNT/f" of=/dev/null bs=128k)
    [ $((with * 3)) -ge "$without" ] || break
done
[ $((with * 3)) -lt "$without" ] || fail "$with ms with it, $without without"
expect "what is read" "$sum" "$(md5sum <"$MNT/f")"

# Also in small pieces, to the end of a file that is not a whole number of pages, and with two
# readers of the same file.
truncate -s 1000001 "$BACK/g"
cmp "$BACK/g" "$MNT/g" || fail "g differs"
dd if="$MNT/g" bs=777 status=none | cmp - "$BACK/g" || fail "g differs in small pieces"
cat "$MNT/f" | cmp - "$BACK/f" &
cmp "$BACK/f" "$MNT/f" || fail "f differs for one of two"
wait $! || fail "f differs for the other"

# A reader sees data that another process wrote meanwhile, through another open file, just ahead.
python3 - "$MNT/f" <<'END' || fail "what was changed isn't seen"
import os, sys
reader, writer = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[1], os.O_RDWR)
for at in range(0, 1 << 20, 1 << 17):
    assert len(os.read(reader, 1 << 17)) == 1 << 17
    os.pwrite(writer, b"changed", at + (1 << 17))
    assert os.read(reader, 7) == b"changed", at
    os.lseek(reader, at + (1 << 17), os.SEEK_SET)
os.ftruncate(writer, 1 << 20)
assert os.read(reader, 100) == b""
END
expect_match "invalidations" '^[1-9]' "$(number invalidations)"
unmount

# With the kernel's own read-ahead, and an archive.
stack $ahead
mount_volfile "$VOL"
mkdir "$TEST_DIR/tree"
for i in {1..60}; do head -c $((i * 7000)) /dev/urandom >"$TEST_DIR/tree/$i"; done
tar cf - -C "$TEST_DIR" tree | tar xf - -C "$MNT"
tar cf - -C "$MNT" tree | tar df - -C "$TEST_DIR" || fail "the archive differs"
diff -r "$TEST_DIR/tree" "$MNT/tree" || fail "the tree differs"
unmount

# An error is of those bytes alone; what fails is asked for again, and the second time is there.
echo 'readv path /g after 1 times 1 -> error EIO' >"$TEST_DIR/once"
echo 'readv path /g -> error EIO' >"$TEST_DIR/rules"
: >"$TEST_DIR/none"
stack "debug/fault,rules=$TEST_DIR/once" $ahead,page-size=64KB
mount_volfile "$VOL" --direct-io-mode=on
expect_ok cmp "$MNT/g" "$BACK/g"
expect "pages that failed" 1 "$(number pages_failed)"
expect_ok "$WINDLASS" fault "$MNT" "$TEST_DIR/rules"
expect_error 'Input/output error' cat "$MNT/g"
expect_ok "$WINDLASS" fault "$MNT" "$TEST_DIR/none"
expect_ok cmp "$MNT/g" "$BACK/g"

# Options that may change do while it is mounted, and bad ones are refused with their line.
sed -i 's/page-size "64KB"/page-size 4KB/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect_ok cmp "$MNT/g" "$BACK/g"
sed -i 's/page-size 4KB/page-size 65MB/' "$VOL"
expect_error "test.vol:[0-9]+:[0-9]+.*'page-size' must be 4KB to 64MB" "$WINDLASS" reload "$MNT"
unmount
for bad in page-count=17 page-count=0 page-size=1KB memory-limit=900TB page-timeout=61; do
    stack $ahead,$bad
    expect_error "test.vol:[0-9]+:[0-9]+.*'${bad%%=*}' must be" "$WINDLASS" -f "$VOL" -l "$LOG" \
        "$MNT"
done
stack $ahead,page-size=64MB,memory-limit=1MB
expect_error "test.vol:7:22: .*option 'page-size' must be at most option 'memory-limit', which is \
1MB, got '64MB'" "$WINDLASS" -f "$VOL" -l "$LOG" "$MNT"
