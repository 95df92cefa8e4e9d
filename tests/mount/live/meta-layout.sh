#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# builds: release debug tsan
# .meta is laid out as in GlusterFS, with the daemon's real state; and no listing shows it.
. "$(dirname "$0")/../lib.sh"
need_command python3
stack encryption/rot-13,log-level=INFO debug/delay-gen
mount_volfile "$VOL" --attribute-timeout=2
M=$MNT/.meta
graph=$M/graphs/active

expect "the listing of the root" "" "$(ls -A "$MNT")"
expect "an archive" "mnt/" "$(tar cf - -C "$TEST_DIR" mnt | tar tf -)"
expect "what is in .meta" \
    "cmdline frames graphs jobs logging mallinfo master measure_latency process_uuid root version" \
    "$(ls -A "$M" | LC_ALL=C sort | xargs)"
uuid=$(readlink "$graph")
expect_match "the graph's name" "^[^ ]+-$DAEMON-[0-9-]+:[0-9:]+\.[0-9]{6} \+0000$" "$uuid"
expect "graphs" "$uuid active" "$(ls -A "$M/graphs" | LC_ALL=C sort -r | xargs)"
expect "a graph" "delay-gen-2 posix rot-13-1 top volfile" \
    "$(ls -A "$graph/" | LC_ALL=C sort | xargs)"
for xl in "$graph/posix" "$graph/rot-13-1" "$M/root" "$M/master"; do
    expect "$xl" \
        "history loglevel meminfo name options private profile settings subvolumes type view" \
        "$(ls -A "$xl" | LC_ALL=C sort | xargs)"
done

# What is what.
expect "top" delay-gen-2 "$(readlink "$graph/top")"
expect "its child" ../../rot-13-1 "$(readlink "$graph/top/subvolumes/0")"
expect "its child's name" rot-13-1 "$(cat "$graph/top/subvolumes/0/name")"
expect "the child's child's type" storage/posix "$(cat "$graph/top/subvolumes/0/subvolumes/0/type")"
expect "the bridge" "fuse mount/fuse" "$(cat "$M/root/name" "$M/root/type" | xargs)"
expect "the bridge's child" delay-gen-2 "$(cat "$M/root/subvolumes/0/name")"
expect "options that are set" "directory" "$(ls "$graph/posix/options")"
expect "an option" "$BACK" "$(cat "$graph/posix/options/directory")"
expect "the bridge's options" "attribute-timeout 2 io-uring $([ "$TEST_THROUGH" = device ] &&
    echo off || echo required) passthrough off" \
    "$(cd "$M/root/options" && for key in *; do echo "$key $(cat "$key")"; done | xargs)"
expect_match "an option that isn't set" '^descriptor-cache = 0  \(default\)$' \
    "$(cat "$graph/posix/settings")"
expect_match "where one is set" '^directory = .*  \(volfile, line 3\)$' \
    "$(cat "$graph/posix/settings")"
expect_match "private" "^directory = $BACK$" "$(cat "$graph/posix/private")"
expect "the log" "$LOG" "$(readlink "$M/logging/logfile")"
expect "the log's level" 7 "$(cat "$M/logging/loglevel")"
expect_ok python3 -c 'import json,sys; assert "-f" in json.load(open(sys.argv[1]))["Cmdlinestr"]' \
    "$M/cmdline"
expect_ok python3 -c 'import json,sys; assert json.load(open(sys.argv[1]))["Package Version"]' \
    "$M/version"
expect_match "memory" '^mallinfo_uordblks=[0-9]' "$(cat "$M/mallinfo")"
cat "$graph/volfile" >again.vol
expect_ok "$WINDLASS" check again.vol
expect_match "the volfile" '^volume rot-13-1$' "$(cat again.vol)"

# Files have size 0, and are read whole all the same; inode numbers are no file's on disk; listings
# know the types.
expect "size, mode and owner" "0 400 $(id -u)" "$(stat -c '%s %a %u' "$M/frames")"
expect "a directory" "500 directory" "$(stat -c '%a %F' "$M")"
expect "the same again" "$(stat -c %i "$M/version")" \
    "$(ls -i "$M" | awk '$2 == "version" { print $1 }')"
expect "types" "d f l" "$(find "$M" -printf '%y\n' | sort -u | xargs)"
expect "duplicate numbers" "" "$(find "$M" -printf '%i\n' | sort | uniq -d)"
expect "numbers of files on disks" "" "$(find "$M" -printf '%i\n' | awk '$1 < 2^63')"
expect_ok cp -r "$M" copy
expect "a copy" "" "$(diff <(cat "$M/graphs/active/volfile") copy/graphs/"$uuid"/volfile)"
expect_ok grep -rq rot-13 "$M"
unmount
