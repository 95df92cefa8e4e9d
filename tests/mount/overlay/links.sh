#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Hard links of a lower stay one file in cluster/overlay when one name is changed, also in later
# mounts; a name comes into the upper when it is changed itself; a discard brings back all names.
# builds: release debug
# longer
# timeout: 900
. "$(dirname "$0")/lib.sh"

need_root
need_command getfattr python3
upper=$UPPER/layers/0
mount -t tmpfs tmpfs "$BACK" # has a UUID since Linux 6.10, so that copies have an origin
mkdir -p "$BACK/dir" "$UPPER"
overlay_volfile
for file in one two three; do
    echo "$file" >"$BACK/$file"
    ln "$BACK/$file" "$BACK/dir/$file"
    ln "$BACK/$file" "$BACK/dir/$file.3"
done
echo single >"$BACK/single"
ln -s target "$BACK/symbolic"
ln "$BACK/symbolic" "$BACK/dir/symbolic"
cp -a "$BACK" before

# all FILE: inode number, link count and bytes of the names of a file that are left
all () {
    (cd "$MNT" && for name in "$1" "dir/$1" "dir/$1.3"; do
        [ ! -e "$name" ] || echo "$(stat -c '%i %h' "$name") $(cat "$name")"
    done | sort -u)
}
index_is_empty () {
    [ -z "$(ls -A "$UPPER/work/index")" ]
}
upper () {
    (cd "$upper" && find . -type f -printf '%P\n' | sort | tr '\n' ' ')
}

# --- the mount that copies ------------------------------------------------------------------------

mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
number=$(stat -c %i "$MNT/one")
echo changed >"$MNT/one"
expect "three names" "$number 3 changed" "$(all one)"
expect "which are in the upper" "one " "$(upper)"
ln "$MNT/one" "$MNT/dir/fourth"
expect "four names" "$number 4 changed" "$(all one)"
mv "$MNT/dir/one" "$MNT/dir/moved"
expect "a name that was changed itself" "dir/fourth dir/moved one " "$(upper)"
expect "four names, still" "$number 4 changed" "$(all one)"
rm "$MNT/dir/one.3"
expect "a name less" "$number 3 changed" "$(all one)"
rm "$MNT/dir/moved" "$MNT/dir/fourth" "$MNT/one"
wait_until index_is_empty
echo changed >"$MNT/two"
touch -h "$MNT/symbolic"
expect "names of a symbolic link" 2 "$(stat -c %h "$MNT/dir/symbolic")"
exec 3<"$MNT/three"
rm "$MNT/three"
expect "a name less, without a copy" "$(stat -c %i "$MNT/dir/three") 2 three" "$(all three)"
echo changed >"$MNT/dir/three"
expect "a copy after that" "$(stat -c %i "$MNT/dir/three") 2 changed" "$(all three)"
expect "a descriptor of the name that is gone" changed "$(cat <&3)"
exec 3<&-
numbers="$(all two) $(all three) $(stat -c %i "$MNT/symbolic")"
unmount
expect "the lower" "" "$(diff -r --no-dereference before "$BACK")"

# --- later mounts ---------------------------------------------------------------------------------

origin=$(getfattr --absolute-names -e hex -n trusted.overlay.origin "$upper/two")
for turn in $([ -z "$origin" ] || echo 1) 2; do
    mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
    [ $turn = 1 ] || cat "$MNT/dir/two" "$MNT/dir/three.3" >/dev/null # another name is the first to be looked up
    expect "files with several names" "3 changed" "$(all two | cut -d' ' -f2-)"
    expect "their numbers" "${numbers%% *} ${numbers##* }" \
        "$(stat -c %i "$MNT/dir/two.3") $(stat -c %i "$MNT/dir/symbolic")"
    expect "the bytes of another one" changed "$(cat "$MNT/dir/three.3")"
    unmount
done
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
echo more >>"$MNT/dir/two.3"
expect "a change by a name that is not in the upper" "$(printf 'changed\nmore')" \
    "$(cat "$MNT/two")"
rm "$MNT/dir/two" "$MNT/dir/two.3"
expect "a single name" "${numbers%% *} 1" "$(stat -c '%i %h' "$MNT/two")"

# --- discards -------------------------------------------------------------------------------------

overlay discard "$MNT" two >/dev/null || fail "no discard"
expect "a discarded file" two "$(cat "$MNT/two")"
overlay discard "$MNT" >/dev/null || fail "no discard"
diff -r --no-dereference before "$MNT" || fail "a view without changes differs from its lower"
expect "names" 3 "$(stat -c %h "$MNT/dir/two.3")"
wait_until index_is_empty

# An open file, known in a discarded directory alone, is written only then: the view has it no more.
unmount
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
exec 3<>"$MNT/dir/two"
touch "$MNT/dir/new"
overlay discard "$MNT" dir >/dev/null || fail "no discard of a directory"
echo lost >&3 || fail "an open file can't be written after a discard"
expect "the open file" lost "$(cat "/proc/$$/fd/3")"
expect "its names in the view" "3 two" "$(all two | cut -d' ' -f2-)"
index_is_empty || fail "the index has a file that was discarded: $(ls "$UPPER/work/index")"
exec 3<&-

# --- removed names that come back, or go below, while the kernel knows the file -------------------

exec 3<"$MNT/single" 4<"$MNT/three"
rm "$MNT/single" "$MNT/three"
expect "a name less" 2 "$(stat -c %h "$MNT/dir/three")"
overlay discard "$MNT" single three >/dev/null || fail "no discard of removals"
expect "what is there again" "single three" "$(cat "$MNT/single" "$MNT/three" | xargs)"
expect "its names" 3 "$(stat -c %h "$MNT/dir/three")"
rm "$MNT/three" "$MNT/dir/three"
overlay apply "$MNT" three dir/three >/dev/null || fail "no apply of removals"
expect "the name that is left" "1 three" \
    "$(stat -c %h "$MNT/dir/three.3") $(cat "$MNT/dir/three.3")"
exec 3<&- 4<&-
unmount

# --- a file that is emptied, if its copy doesn't get the name --------------------------------------

sed 's|^volume overlay|volume faulty\n    type debug/fault\n    subvolumes changes\nend-volume\n&|
    s|subvolumes changes lower|subvolumes faulty lower|' "$VOL" >faulty.vol
mount_volfile faulty.vol --entry-timeout=0 --attribute-timeout=0
expect_ok "$WINDLASS" fault "$MNT" - <<<'rename -> error ENOSPC'
expect_error 'No space left' truncate -s 0 "$MNT/two"
expect "what all names show" "3 two" "$(all two | cut -d' ' -f2-)"
expect_ok "$WINDLASS" fault "$MNT" - <<<''
truncate -s 0 "$MNT/two"
expect "what all names show then" "3 " "$(all two | cut -d' ' -f2-)"
unmount

# --- random changes -------------------------------------------------------------------------------

program=$SOURCE_DIR/tests/mount/programs/change-trees.py
for seed in $(amount 4 "1 2 4 5 7 8"); do
    rm -rf "$UPPER" "${BACK:?}"/* plain
    mkdir -p "$UPPER/layers/0" plain
    expect_ok python3 "$program" --no-links $((1000 + seed)) 200 "$BACK" plain
    expect_ok python3 "$program" --only-links "$seed" 3000 "$BACK" plain
    [ -n "$(find "$BACK" -type f -links +1)" ] || fail "the lower has no hard links"
    for turn in $(seq "$(amount 2 5)"); do
        mount_volfile "$VOL"
        expect_ok python3 "$program" "$seed$turn" "$(amount 100 300)" "$MNT" plain
        unmount
    done
done
