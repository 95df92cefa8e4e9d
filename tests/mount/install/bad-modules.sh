#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A module is refused by name if it has another ABI, no object, another type, is missing, or is no
# module.
# builds: debug
. "$(dirname "$0")/../lib.sh"

mkdir -p dir/test
echo 'no module' >dir/test/text.so
head -c 5000 "$WINDLASS_TEST_XLATORS/test/pass.so" >dir/test/half.so 2>/dev/null
mkfifo dir/test/fifo.so

# type, and what is said of it
while read -r type regex; do
    stack "$type"
    timeout 20 "$WINDLASS" -f "$VOL" -l "$LOG" --xlator-dir="$TEST_DIR/dir" "$MNT" >out 2>&1
    expect "the exit status for $type" 1 $?
    expect_match "what is said of $type" \
        "^.*test.vol:6:[0-9]+: error: volume '${type#*/}-1': $regex" "$(cat out)"
    ! is_mounted || fail "$type is mounted"
    [ "$(grep -o "dir/$type.so" out | wc -l)" -le 1 ] || fail "its path comes twice: $(cat out)"
done <<'END'
test/badabi .*badabi.*(ABI|abi|version)
test/noobject .*noobject.*xlator_api
test/wrongtype .*wrongtype
test/text .*text.so
test/half .*half.so.*end is missing
test/fifo .*test/fifo
test/nosuch .*test/nosuch
END
