#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass explain: what each translator does with a file, which option decides, and where that was
# set; also of a mount that hangs.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"

need_root
mkdir "$BACK/dir"
echo hello >"$BACK/dir/file"
echo hello >"$BACK/"$'new\nline'
ln -s dir/file "$BACK/link"
printf 'open path "/dir/*" -> error EIO\nopen path "/other" -> hang\n' >rules
stack "encryption/rot-13,decrypt-read=no" "debug/fault,rules=$TEST_DIR/rules" encryption/rot-13
mount_volfile "$VOL" --xlator-option rot-13-1.encrypt-write=off --xlator-option \
    rot-13-3.pass-through=on --attribute-timeout 7
said=$("$WINDLASS" explain "$MNT/dir/file")
expect_match "passthrough is the second line" "^kernel passthrough: no, " "$(sed -n 2p <<<"$said")"
expect_no_match "defaults, operations or state" '\(default\)|takes part in|keeps with it' "$said"
expect_match "an option that is set" '^    option attribute-timeout = 7 \(command line\)$' "$said"
expect_match "how to see the rest" \
    '^[1-9][0-9]+ more options have their default: --all prints ' "$said"
[ "$(wc -l <<<"$said")" -le 50 ] || fail "it is $(wc -l <<<"$said") lines long"
said=$("$WINDLASS" explain --all "$MNT/dir/file")
expect_match "what it is" '^/dir/file: a file, gfid [-0-9a-f]{36}, number [0-9]+$' "$said"
expect "its ways" "way of lookup, stat: fuse -> fault-2 -> posix
way of readv, writev: fuse -> fault-2 -> rot-13-1 -> posix" "$(grep '^way of' <<<"$said")"

# part VOLUME: what is said of it.
part () {
    awk -v want="$1 (" '/^[^ ]/ { on = index ($0, want) == 1 } on' <<<"$said"
}

expect_match "the kernel's part" 'keeps its attributes for 7 s \(attribute-timeout\)' "$(part fuse)"
expect_match "from the command line" '^    option attribute-timeout = 7 \(command line\)$' \
    "$(part fuse)"
expect_match "by default" '^    option entry-timeout = 1\.0 \(default\)$' "$(part fuse)"
expect_match "its rule" 'the rule in line 1 may hit it: open path "/dir/\*" -> error EIO' \
    "$(part fault-2)"
expect_no_match "another's rule" 'line 2' "$(part fault-2)"
expect "windlass rules" "fault-2 (debug/fault)
    $TEST_DIR/rules:1: open path \"/dir/*\" -> error EIO" "$("$WINDLASS" rules "$MNT" /dir/file)"
expect "of a path in the mount" "$("$WINDLASS" rules "$MNT" dir/file)" \
    "$("$WINDLASS" rules "$MNT/link")"
expect_match "and of another one" '^    no rule is for its path$' "$("$WINDLASS" rules "$MNT" dir)"
expect_match "what it takes part in" '^    takes part in: all operations$' "$(part fault-2)"
line=$(grep -n 'decrypt-read' "$VOL" | cut -d: -f1)
expect_match "from the volfile" "^    option decrypt-read = no \($VOL:$line:[0-9]+\)$" \
    "$(part rot-13-1)"
expect_match "and from the command line" '^    option encrypt-write = off \(command line\)$' \
    "$(part rot-13-1)"
expect_match "what it does" 'leaves what is written as it is \(encrypt-write\)' "$(part rot-13-1)"
expect_match "its fops" '^    takes part in: readv.*writev.*; all others pass by$' \
    "$(part rot-13-1)"
expect_match "what it may change" '^    may change: data$' "$(part rot-13-1)"
expect_match "one that is passed through" 'is passed through: no request comes here' \
    "$(part rot-13-3)"
expect_match "storage" "it is '$BACK/dir/file'" "$(part posix)"
expect_match "what it keeps" "keeps with it: ino=$(stat -c %i "$BACK/dir/file")\$" "$(part posix)"

# Other names of files, and none.
expect_match "a link to it" '^/dir/file: a file' "$("$WINDLASS" explain "$MNT/link")"
expect_match "from within" '^/dir/file: a file' \
    "$(cd "$MNT/dir" && "$WINDLASS" explain ../dir/./file)"
expect_match "the root" '^/: a directory' "$("$WINDLASS" explain "$MNT")"
expect_match "a name for a terminal" '^/new\\x0aline: a file' \
    "$("$WINDLASS" explain "$MNT/"$'new\nline')"
expect_error "'$MNT/none': No such file" "$WINDLASS" explain "$MNT/none"
expect_error "'$BACK/dir' is not in a Windlass mount" "$WINDLASS" explain "$BACK/dir"
expect_error "which file" "$WINDLASS" explain
expect "of the daemon's own" \
    "/.meta/version: the daemon's own: requests about it reach no translator" \
    "$("$WINDLASS" explain "$MNT/.meta/version")"

# It hangs: what is known is said.
echo 'lookup -> hang' >hang
echo 'stat -> hang' >>hang
ls "$MNT" >/dev/null
expect_ok "$WINDLASS" fault "$MNT" hang
said=$("$WINDLASS" explain "$MNT/never-asked-for" 2>&1) || fail "it fails: $said"
expect_match "why it is short" "the mount doesn't answer; this is what its daemon knows" "$said"
expect_match "what isn't known" '^/never-asked-for: not known to the kernel now' "$said"
expect_ok "$WINDLASS" fault "$MNT" --clear
