#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/subdirectory shows one directory and nothing beside it. The directory may be renamed and
# removed behind the mount; a path that leads to no directory does not mount.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

sub=features/subdirectory

# refused REGEX PATH: it does not mount, and the log names the step.
refused () {
    stack "$sub,path=$2"
    expect_error . "$WINDLASS" -f "$VOL" -l "$LOG" "$MNT"
    expect_match "the log of '$2'" "$1" "$(cat "$LOG")"
    rm -f "$LOG"
}

mkdir -p "$BACK/a/b" "$BACK/beside"
echo secret >"$BACK/beside/file"
ln -s a "$BACK/link"
echo >"$BACK/a/file"
refused "directory '/missing/b' of volume 'posix' can't be shown: 'missing' in it: No such file" \
    /missing/b
refused "'c' in it: No such file" /a/c
refused "'link' in it: Not a directory \(a symbolic link is not followed\)" /link/b
refused "'file' in it: Not a directory" /a/file
for path in a/b /a/../b ''; do
    stack "$sub"
    sed -i "s|type $sub|&\n    option path \"$path\"|" "$VOL"
    expect_error "path that begins with '/'|option 'path'" "$WINDLASS" -f "$VOL" "$MNT"
done

# What is shown, and what is not.
stack "$sub,path=/a/b"
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
echo hello >"$MNT/file"
mkdir -p "$MNT/one/two"
expect "a file" hello "$(cat "$BACK/a/b/file")"
expect "the root" "$(printf 'file\none')" "$(ls "$MNT")"
expect "the number of the root" "$(stat -c %i "$BACK/a/b")" "$(stat -c %i "$MNT")"
expect_error "No such file" cat "$MNT/../beside/file.."
expect_error "No such file" cat "$MNT/beside/file"
expect "the way up from a directory" "$(printf 'file\none')" "$(ls "$MNT/one/two/../..")"
ln "$MNT/file" "$MNT/one/linked"
mv "$MNT/one/linked" "$MNT/one/two/moved"
expect "links" 2 "$(stat -c %h "$BACK/a/b/one/two/moved")"
ln "$BACK/a/b/file" "$BACK/beside/linked"
expect "a link from outside" 3 "$(stat -c %h "$MNT/one/two/moved")"
ln -s ../beside "$MNT/out"
expect_error "No such file" cat "$MNT/out/file"

# Each volume tells the path in its realm.
said=$("$WINDLASS" explain "$MNT/one/two/moved")
expect_match "explain" "is /a/b/(one/two/moved|file) of volume 'posix' \(path\)" "$said"
dump=$(cat "$("$WINDLASS" tell "$MNT" - statedump)")
expect_match "a state dump of the root" '^path=/a/b$' "$dump"
expect_match "a state dump of the realm" '^name=posix/inode$' "$dump"

# An open file and the working directory stay when the directory is renamed behind the mount.
exec 3>>"$MNT/file"
mv "$BACK/a/b" "$BACK/renamed"
echo more >&3
expect "the file behind" "$(printf 'hello\nmore')" "$(cat "$BACK/renamed/file")"
echo new >"$MNT/new"
expect "a new file" new "$(cat "$BACK/renamed/new")"
stack "$sub,path=/a/b" debug/io-stats
expect_error "can't look up the root.*No such file" "$WINDLASS" reload "$MNT"
echo again >&3
expect "the file after a refused reload" again "$(tail -n 1 "$BACK/renamed/file")"
exec 3>&-
rm -r "$BACK/renamed"
expect_error "No such file|Stale" touch "$MNT/gone"
unmount
