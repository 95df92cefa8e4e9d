#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass timeline: whole requests, also those that continue on another thread, as JSON for
# Perfetto, as a tree and as folded stacks.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"

stack debug/delay-gen,delay-percentage=100%,delay-duration=20000,enable=writev encryption/rot-13
mount_volfile "$VOL"
timeline () {
    "$WINDLASS" timeline "$@"
}

expect_ok timeline start "$MNT"
mkdir "$MNT/dir"
echo hello >"$MNT/dir/file"
cat "$MNT/dir/file" "$MNT/missing" >/dev/null 2>&1
mkdir "$MNT/dir/\"new\" \\
file"
said=$(timeline stop "$MNT" -o out.json 2>&1) || fail "stop: $said"
mv "$MNT/dir/file" "$MNT/dir/later"
expect_match "the summary" '^[0-9]+ requests$' "$said"
expect "nothing is left beside it" out.json "$(ls | grep out)"

# A tree, with the names of then; the write goes on on the thread of what was held back.
text=$(timeline cat "$MNT")
expect_match "the columns" '^#    began         took   columns: start, duration \(us\)$' "$text"
expect_match "the write" \
    '^request [0-9]+: writev /dir/file, offset 0, 6 bytes, process [0-9]+, uid 0, at' "$text"
expect_match "its way" ' {4}rot-13-2: writev = 6 \(answered on work-0\)$' "$text"
expect_match "its way below" ' {8}posix: writev = 6 \(on work-0\)$' "$text"
expect_match "what is missing" 'posix: lookup = -1 ENOENT$' "$text"
expect_match "a name that would end a line" '/dir/"new" \\$' "$text"
ms=$(sed -n '/: writev /,/^$/s/^ *[0-9.]* *\([0-9]*\)\.[0-9]*  fuse (.*/\1/p' <<<"$text")
[ "$ms" -ge 20000 ] || fail "a write that was delayed by 20 ms took $ms us"

folded=$(timeline cat "$MNT" --folded)
expect_match "folded stacks" '^fuse;rot-13-2:writev;delay-gen-1:writev;posix:writev [0-9]+$' \
    "$folded"
expect "no stack comes twice" '' "$(sed 's/ [0-9]*$//' <<<"$folded" | sort | uniq -d)"
own=$(sed -n 's/^fuse;rot-13-2:writev;delay-gen-1:writev \([0-9]*\)$/\1/p' <<<"$folded")
[ "$own" -ge 19000000 ] || fail "a delay of 20 ms is $own ns"

# Also through a pipe, and where a file was before; a second file has the same in it.
timeline cat "$MNT" --json | cmp - out.json || fail "what is printed is not what was written"
timeline cat "$MNT" --text -o out.txt
expect "text in a file" "$text" "$(cat out.txt)"
echo other >linked
chmod 640 linked
ln -s linked link
timeline cat "$MNT" --text -o link
expect "text through a link, which keeps the file's mode" "$text linked 640" \
    "$(cat linked) $(readlink link) $(stat -c %a linked)"
ln linked second
timeline cat "$MNT" --folded -o linked
cmp linked second || fail "a file with two names is two files now"
expect_error "No such file or directory" timeline cat "$MNT" -o missing/file
expect "what is so now" "the recorded timeline is deleted" "$(timeline clear "$MNT")"
expect_error "there is no recorded timeline; begin with: windlass timeline start $MNT" timeline \
    cat "$MNT"
unmount

# What a translator does later is below what it does it for, and an arrow leads there.
stack performance/write-behind encryption/rot-13
mount_volfile "$VOL"
expect_ok timeline start "$MNT"
echo hello >"$MNT/later"
sync "$MNT/later"
timeline stop "$MNT" -o later.json 2>said || fail "$(cat said)"
text=$(timeline cat "$MNT" | sed -n '/^request [0-9]*: writev \/later/,/^$/p')
number=$(sed -n '1s/^request \([0-9]*\):.*/\1/p' <<<"$text")
expect_match "the write" '^ +[0-9.]+ +[0-9.]+      write-behind-1: writev = 6$' "$text"
expect_match "what it caused" \
    "^    request [0-9]+: writev /later, offset 0, 6 bytes, .* in the background, caused by request $number\$" \
    "$text"
expect_match "where that went" '^ +[0-9.]+ +[0-9.]+        posix: writev = 6( \(|$)' "$text"
expect_match "folded" '^write-behind-1 \(background\);posix:writev [0-9]+$' \
    "$(timeline cat "$MNT" --folded)"
expect_match "an arrow" '"ph":"f".*"name":"caused"' "$(cat later.json)"

need_command python3
python3 "$SOURCE_DIR/tests/mount/trace/trace-events.py" out.json '"new" ' "writev /dir/file" ||
    fail "out.json is no good trace"
python3 "$SOURCE_DIR/tests/mount/trace/trace-events.py" later.json "writev /later" ||
    fail "later.json is no good trace"
