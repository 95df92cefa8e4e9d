#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs read small files out of quick-read's memory, and see no difference: a caller without the
# right to read is refused, changes are seen, and so are disk errors.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"
need_fuse
need_root
need_command git tar
quick=performance/quick-read
counted () { sed -n "s/^$1 *= *//p" "$MNT/.meta/graphs/active/$quick_volume/private"; }
quick_volume=quick-read-2

stack performance/open-behind $quick,cache-timeout=600
mkdir "$BACK/d"
for i in {1..50}; do seq 1 $((i * 30)) >"$BACK/d/$i"; done
sleep 0.1
mount_volfile "$VOL" --fopen-keep-cache=off
chmod 755 "$TEST_DIR"
sent () { sed -n 's/^sent *= *//p' "$MNT/.meta/graphs/active/open-behind-1/private"; }
expect_ok diff -r "$BACK/d" "$MNT/d"
first=$(sent)
expect_ok diff -r "$BACK/d" "$MNT/d"
[ "$(counted cache-hit)" -ge 50 ] || fail "only $(counted cache-hit) reads were served"
expect "opens that were sent for the second time" "$first" "$(sent)"
expect_match "what explain says" 'has it in memory, 81 bytes' "$("$WINDLASS" explain "$MNT/d/1")"

# Changes through the mount, each followed by a look.
for i in 1 2 3; do
    echo "line $i" >>"$MNT/d/1"
    expect "the last line" "line $i" "$(tail -n1 "$MNT/d/1")"
    truncate -s $((10 + i)) "$MNT/d/2"
    expect "the size" $((10 + i)) "$(wc -c <"$MNT/d/2")"
    cp "$MNT/d/$((i + 10))" "$MNT/d/3"
    expect_ok cmp "$BACK/d/$((i + 10))" "$MNT/d/3"
    mv "$MNT/d/$((i + 20))" "$MNT/d/4"
    expect_ok cmp "$BACK/d/4" "$MNT/d/4"
done
# Who may not read gets nothing of what others read, at once after chmod.
echo secret >"$MNT/secret"
expect secret secret "$(cat "$MNT/secret")"
expect "what a user reads" secret "$(user cat "$MNT/secret")"
chmod 600 "$MNT/secret"
expect secret secret "$(cat "$MNT/secret")"
expect_error 'Permission denied' user cat "$MNT/secret"

# An archive, and a repository.
expect_ok tar -C "$MNT" -cf all.tar d
mkdir out && expect_ok tar -xf all.tar -C out
expect_ok diff -r "$BACK/d" out/d
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a \
    GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
expect_ok git init -q "$MNT/r"
for i in 1 2 3; do
    cp "$MNT"/d/1* "$MNT/r"
    echo $i >"$MNT/r/number"
    expect_ok git -C "$MNT/r" add .
    expect_ok git -C "$MNT/r" commit -qm "$i"
done
expect_ok git -C "$MNT/r" gc -q
expect_ok git -C "$MNT/r" checkout -q HEAD~2
expect "what was checked out" 1 "$(cat "$MNT/r/number")"
expect_ok git -C "$MNT/r" fsck --full --strict
unmount

# When storage fails, what is in memory is still served for its time, and everything else says so.
quick_volume=quick-read-3
stack debug/fault performance/open-behind $quick,cache-timeout=600
echo kept >"$BACK/kept"
echo other >"$BACK/other"
sleep 0.1
mount_volfile "$VOL" --fopen-keep-cache=off --entry-timeout=600 --attribute-timeout=600
expect kept kept "$(cat "$MNT/kept")"
stat "$MNT/other" >/dev/null
# All but attributes, which the kernel asks for anew after a read: performance/md-cache keeps them,
# not this translator.
printf '%s -> error EIO\n' open readv writev flush create >rules
expect_ok "$WINDLASS" fault "$MNT" rules
expect "what is in memory" kept "$(cat "$MNT/kept")"
expect_error 'Input/output error' sh -c "echo x >>'$MNT/kept'"
expect_error 'Input/output error' cat "$MNT/other"
expect_ok "$WINDLASS" fault "$MNT" --clear
expect "what is there afterwards" kept "$(cat "$MNT/kept")"

# A cache that becomes smaller while it is mounted; one that is larger than the machine; and an
# invalid one.
sed -i 's/option cache-timeout.*/&\n    option cache-size 100B/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect "files in memory" 0 "$(counted total_files_cached)"
expect kept kept "$(cat "$MNT/kept")"
unmount
for bad in 'cache-size 900TB' 'max-file-size 1001KB' 'cache-timeout -1' 'priority *.c:x' \
    'cache-sise 1MB'; do
    sed -i "s/option cache-si.*\|option max-file.*\|option cache-timeout.*\|option priority.*/option $bad/" \
        "$VOL"
    expect_error "test.vol:[0-9]+:[0-9]+: error.*${bad%% *}" "$WINDLASS" -f "$VOL" "$MNT"
done
