#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A volfile of another shape replaces the graph while files are open: `windlass reload`.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"

# changed SPEC...: the mount moves to a stack of these.
changed () {
    stack "$@"
    "$WINDLASS" reload "$MNT" >answer || fail "the reload fails: $(cat answer)"
    expect_match "what is said" "^the mount has moved to its new graph: [0-9]+ inodes, " \
        "$(cat answer)"
}

stack performance/io-cache
mount_volfile "$VOL" --attribute-timeout=1
mkdir -p "$MNT/dir/deep"
echo one >"$MNT/dir/file"
echo two >"$MNT/removed"
cd "$MNT/dir/deep" || exit 1
exec 7<>"$MNT/dir/file" 8<>"$MNT/removed"
rm "$MNT/removed"

exec 6>"$MNT/.meta/graphs/active/io-cache-1/loglevel"

# Files that are open, and the working directory, are the same afterwards.
changed performance/write-behind performance/io-cache performance/md-cache
expect_match "what is said of a removed file" "^1 files stay with the old graph until they are \
closed, .*: they were removed" "$(cat answer)"
expect "the graph" "io-cache-2 md-cache-3 posix top volfile write-behind-1" \
    "$(cd "$MNT/.meta/graphs/active" && echo *)"
expect "the working directory" "$MNT/dir/deep" "$(/bin/pwd)"
expect "a file by its name" one "$(cat ../file)"
echo ONE >&7
expect "a file that was open" ONE "$(cat ../file)"
expect "a removed file" two "$(cat <&8)"
echo more >&8 || fail "a removed file can't be written"
expect "its size" 9 "$(stat -Lc %s /proc/$$/fd/8)"
echo new >new
expect "a new file" new "$(cat "$BACK/dir/deep/new")"

# A file of .meta that is still open sets nothing of a translator that went.
expect_error 'Stale file handle|write error' bash -c 'echo DEBUG >&6'
exec 6>&-

# While a file uses an old graph, the mount moves on. Three such graphs are all that there can be.
ended () {
    grep -c 'no file uses the old graph any more; it has ended' "$LOG"
}
changed performance/io-cache
expect "the removed file" "$(printf 'two\nmore')" "$(cat /proc/$$/fd/8)"
echo three >"$MNT/also-removed"
exec 9<>"$MNT/also-removed"
rm "$MNT/also-removed"
changed performance/quick-read
expect_match "a second file stays" "^1 files stay with the old graph" "$(cat answer)"
echo again >&8 || fail "the first removed file can't be written"
expect "the first removed file" "$(printf 'two\nmore\nagain')" "$(cat /proc/$$/fd/8)"
expect "the second one" three "$(cat /proc/$$/fd/9)"
echo four >"$MNT/removed-too"
exec 6<>"$MNT/removed-too"
rm "$MNT/removed-too"
changed performance/io-cache
stack performance/md-cache
expect_error "the new shape has to wait: files that have been open since before still use 3 old graphs" \
    "$WINDLASS" reload "$MNT"
exec 8<&-
wait_until '[ "$(ended)" = 1 ]'
changed performance/md-cache
expect "the second one, after the first has gone" three "$(cat /proc/$$/fd/9)"
expect "the third one" four "$(cat /proc/$$/fd/6)"
exec 6<&- 9<&-
wait_until '[ "$(ended)" = 3 ]'
changed encryption/rot-13
expect "what the old graph held back" ONE "$(cat "$BACK/dir/file")"
expect "a translator that is new has its effect" BAR "$(cat ../file)"
echo two >&7
changed performance/write-behind
expect "a file that was open" "$(printf 'ONE\ngjb')" "$(cat ../file)"
exec 7<&-

# Nothing has changed after what is refused.
stack system/posix-acl
expect_error "the volume's new shape needs a new mount: a volume of type 'system/posix-acl' " \
    "$WINDLASS" reload "$MNT"
stack performance/write-behind no/such
expect_error "test.vol:[0-9]+:[0-9]+: error: volume 'such-2': " "$WINDLASS" reload "$MNT"
stack performance/write-behind
expect "nothing new" "no option changed" "$("$WINDLASS" reload "$MNT")"

# While programs write, read and list, none of them sees an error.
writer () {
    local n=0
    exec 6>>log
    until [ -e stop ]; do
        n=$((n + 1))
        echo "$n" >&6 || echo "a write fails" >>"$TEST_DIR/trouble"
    done
    echo "$n" >"$TEST_DIR/written"
}
reader () {
    until [ -e stop ]; do
        cat "$MNT/dir/file" >"$TEST_DIR/read" || echo "a read fails" >>"$TEST_DIR/trouble"
        cmp -s "$TEST_DIR/read" "$BACK/dir/file" || echo "other bytes" >>"$TEST_DIR/trouble"
    done
}
lister () {
    until [ -e stop ]; do
        [ "$(find "$MNT/many" -type f | wc -l)" = 300 ] || echo "a listing" >>"$TEST_DIR/trouble"
    done
}
mkdir "$MNT/many"
touch "$MNT"/many/{1..300}
writer 2>>"$TEST_DIR/trouble" &
reader 2>>"$TEST_DIR/trouble" &
lister 2>>"$TEST_DIR/trouble" &
for _ in {1..8}; do
    changed performance/io-cache performance/readdir-ahead performance/open-behind
    wait_until "! '$WINDLASS' reload '$MNT' 2>&1 | grep -q wait"
    changed performance/write-behind performance/quick-read performance/md-cache \
        performance/nl-cache
done
touch stop
wait
[ ! -s "$TEST_DIR/trouble" ] || fail "$(sort "$TEST_DIR/trouble" | uniq -c)"
expect "what was written" "$(seq "$(cat "$TEST_DIR/written")" | md5sum)" "$(md5sum <log)"
expect "open files" "open=0" "$("$WINDLASS" counts "$MNT" | grep '^open=')"
cd / || exit 1
unmount
