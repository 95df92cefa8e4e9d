#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A file of rules chooses what is removed for good: by path, process, user, and by the size, owner
# and mode of the file. It is checked with line and column, and can be replaced while mounted.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

rules=$TEST_DIR/rules
cat >"$rules" <<'EOF2'
unlink path "*.keep.o" -> keep
unlink path "*.o" -> eliminate
* path "/build/*" -> eliminate
unlink process "python3*" -> eliminate
EOF2
stack "features/trash,settle=50ms,keep=overwritten,rules=$rules"
mount_volfile "$VOL" -o allow_other
mkdir "$MNT/build" "$MNT/src"
chmod 777 "$MNT" "$MNT/src"

# kept: former paths of what is in root's trash.
kept () {
    settled
    entries
}

touch "$MNT"/src/{a.o,b.keep.o,c.c,by-python} "$MNT"/build/{out,other}
rm "$MNT"/src/*.o "$MNT/src/c.c" "$MNT/build/out"
python3 -c 'import os, sys; os.unlink(sys.argv[1])' "$MNT/src/by-python"
wait_until '[ "$(kept)" = "src/b.keep.o src/c.c" ]'

# A rename over a file.
touch "$MNT/build/new" "$MNT"/src/{old,new}
mv "$MNT/build/new" "$MNT/build/other"
mv "$MNT/src/new" "$MNT/src/old"
wait_until '[ "$(kept)" = "src/b.keep.o src/c.c src/old" ]'
expect "explain" 1 "$("$WINDLASS" explain "$MNT/build" | grep -c 'this rule is for it: line 4')"
expect_match "which rules" 'path "?/build/' "$("$WINDLASS" rules "$MNT" /build/other)"

# Attributes of the file, asked for at the removal; the rules are replaced.
cat >"$rules" <<'EOF2'
unlink size 1000.. -> eliminate
unlink owner 1234 -> eliminate
unlink mode -100 -> eliminate
EOF2
expect_ok "$WINDLASS" reload "$MNT"
head -c 5000 /dev/zero >"$MNT/src/large"
touch "$MNT"/src/{small,owned,program}
said=$("$WINDLASS" explain "$MNT/src/small")
expect_match "a size" "this rule is for it: line 1 " "$said"
expect_match "an owner" "this rule may be for it, as its owner or mode is not known: line 2 " "$said"
expect_match "kept perhaps" "but is removed for good if a rule below that eliminates" "$said"
expect_match "rules" ':3: unlink mode -0100 -> eliminate   \(may be for it: its owner or mode is not known\)' \
    "$("$WINDLASS" rules "$MNT" /src/small)"
chown 1234 "$MNT/src/owned"
chmod 700 "$MNT/src/program"
rm "$MNT"/src/{large,small,owned,program}
wait_until '[ "$(kept)" = "src/b.keep.o src/c.c src/old src/small" ]'
chown 1234 "$MNT/src/old" # a change just before is seen
rm "$MNT/src/old"
expect "owner" "src/b.keep.o src/c.c src/old src/small" "$(kept)"
expect_no_match "explain" "for good instead" "$("$WINDLASS" explain "$MNT/src")"

# Errors: those in force stay.
printf 'unlink -> eliminate\nunlink path "x" -> forget\n' >"$rules"
expect_error "$rules:2:20: expected eliminate or keep, got 'forget'" "$WINDLASS" reload "$MNT"
head -c 5000 /dev/zero >"$MNT/src/large"
touch "$MNT/src/last"
rm "$MNT/src/large" "$MNT/src/last"
wait_until '[ "$(kept)" = "src/b.keep.o src/c.c src/last src/old src/small" ]'
unmount
expect_error "$rules:2:20: expected eliminate or keep" "$WINDLASS" -f "$VOL" "$MNT"

# Directories: of what is eliminated nothing is left, also no empty directories.
printf '* path "/cache*" -> eliminate\nunlink mode 0600 -> eliminate\n' >"$rules"
stack "features/trash,settle=1h,max-filesize=1000,eliminate=/build,rules=$rules"
mount_volfile "$VOL"
"$WINDLASS" trash empty "$MNT" >/dev/null
mkdir -p "$MNT"/{build,cache,src}/sub/below "$MNT/build.o"
touch "$MNT"/{build,cache,src}/{sub/,sub/below/,}file "$MNT/build.o/file"
mkfifo "$MNT/pipe"
# explain NAME: what is said of its removal.
explain () { "$WINDLASS" explain "$MNT/$1" | grep -E '^    (goes|is removed for|but is)'; }
expect "a pattern" "    is removed for good: '/build' names it (eliminate)" "$(explain build/file)"
expect "a rule" "    is removed for good: a rule below eliminates it (rules)" "$(explain cache/file)"
expect "a file" "goes to the trash of the user who removes it (trash) but is removed for good if it has more than 1000 bytes (max-filesize) but is removed for good if a rule below that eliminates is for the removal (rules)" \
    "$(explain src/file | xargs)"
expect_match "a pipe" "is removed for good, as it has no content" "$(explain pipe)"
rm -r "$MNT"/{build,cache,src,build.o}
asked
expect "directories" "build.o src" "$(entries)"
expect "what is in one" "below file" "$(ls "$BACK/.Trash-0/files/src/sub" | xargs)"
unmount

# Rules that can be for no removal.
printf 'readv -> eliminate\n  mkdir,open path "x" -> keep\n\tmkdir,readv uid 0 -> keep\n' >"$rules"
said=$("$WINDLASS" -f "$VOL" "$MNT" 2>&1) && fail "mounted"
expect_match "no read" "$rules:1:1: this rule is for no removal; the operations must have one of" "$said"
expect_match "no mkdir" "$rules:3:2: this rule is for no removal" "$said"
expect_no_match "an open" "$rules:2:" "$said"

# Layout gluster.
echo 'unlink,truncate path "*.o" size 4.. -> eliminate' >"$rules"
stack "features/trash,layout=gluster,trash=on,rules=$rules"
mount_volfile "$VOL"
echo text | tee "$MNT/x.o" "$MNT/x.c" >"$MNT/cut.o"
echo >"$MNT/short.o"
python3 -c 'import os, sys; os.truncate(sys.argv[1], 1)' "$MNT/cut.o"
rm "$MNT"/{x.o,x.c,short.o}
expect "gluster" "short.o x.c" "$(find "$BACK/.trashcan" -type f -printf '%f\n' | sed 's/_20.*//' | sort | xargs)"
unmount
