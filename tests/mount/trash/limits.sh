#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is not kept by option; limits, which remove the oldest entries; replaced files.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

stack features/trash,settle=50ms,max-filesize=100KB,max-total=300KB,eliminate=*.o,/build
sed -i 's|option eliminate .*|option eliminate "*.o,/build"|; /"\/build"$/d' "$VOL"
mount_volfile "$VOL"

mkdir -p "$MNT/build/below" "$MNT/dir"
touch "$MNT/build/below/file" "$MNT/a.o" "$MNT/dir/b.o" "$MNT/a.c"
head -c 200K /dev/zero >"$MNT/large"
rm "$MNT/build/below/file" "$MNT/a.o" "$MNT/dir/b.o" "$MNT/a.c" "$MNT/large"
settled
expect "by option" a.c "$(entries)"

# Five files of 80 KB, of different seconds: the last three stay.
for i in 1 2 3 4 5; do
    head -c 80K /dev/zero >"$MNT/file$i"
    rm "$MNT/file$i"
    settled
    wait_until "[ -e '$BACK/.Trash-0/info/file$i.trashinfo' ]"
    touch -d "2026-01-01 12:00:0$i" "$BACK/.Trash-0/info/file$i.trashinfo"
done
touch "$MNT/last"
rm "$MNT/last"
wait_until '[ ! -e "$BACK/.Trash-0/files/file2" ]'
settled
expect "the oldest are gone" "a.c file3 file4 file5 last" "$(entries)"

# Replaced files; a rename that fails leaves no name behind, nor does one over another link.
sed -i 's|option max-total .*|option max-age 1d|; s|option settle|option keep "deleted,overwritten"\n&|' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
wait_until '[ "$(entries)" = "a.c last" ]' # the others were made old above
echo old >"$MNT/text"
echo new >"$MNT/new"
mv -f "$MNT/new" "$MNT/text"
settled
expect "what is replaced" "a.c last text" "$(entries)"
expect "its text" "old new" "$(cat "$MNT/.Trash-0/files/text" "$MNT/text" | xargs)"
echo dir >"$MNT/another"
mkdir "$MNT/folder"
expect_error 'directory' python3 -c 'import os, sys; os.rename(*sys.argv[1:])' "$MNT/folder" "$MNT/another"
ln "$MNT/another" "$MNT/link"
echo new >"$MNT/new"
mv -f "$MNT/new" "$MNT/link"
settled
expect "names that lead on" "a.c last text" "$(entries)"
expect "links" 1 "$(stat -c %h "$MNT/another")"

# An owner has only his own rights: he has moved another's directory to his trash. A trash that is
# not its user's is left alone. An own directory without rights goes.
for uid in 65533 65534; do
    mkdir -p "$BACK/.Trash-$uid"/{info,files/theirs,files/own/below}
    touch "$BACK/.Trash-$uid"/{files/theirs/file,files/own/below/file}
    touch -d 2026-01-01 "$BACK/.Trash-$uid/info/theirs.trashinfo"
    touch -d 2026-01-02 "$BACK/.Trash-$uid/info/own.trashinfo"
    chown -R 65534:65534 "$BACK/.Trash-$uid"
    chown -R 0:0 "$BACK/.Trash-$uid/files/theirs"
    chmod 500 "$BACK/.Trash-$uid/files/own/below"
done
touch "$MNT/more"
rm "$MNT/more"
settled
wait_until '[ ! -e "$BACK/.Trash-65534/info/own.trashinfo" ]'
touch "$MNT/yet_more"
rm "$MNT/yet_more"
settled
sleep 0.3
expect "another's directory" "theirs theirs/file" \
    "$(cd "$BACK/.Trash-65534/files" && find . -mindepth 1 -printf '%P\n' | sort | xargs)"
expect "its information" theirs.trashinfo "$(ls "$BACK/.Trash-65534/info")"
expect "another's trash" "own theirs" "$(ls "$BACK/.Trash-65533/files" | xargs)"
unmount

# min-free counts every trash; no space anywhere has the limits held at once.
rm -r "$BACK"/.Trash-*
mkdir -m 1777 "$BACK/.Trash"
stack debug/fault features/trash,settle=50ms,min-free=100000TB
mount_volfile "$VOL"
mkdir -m 700 "$BACK/.Trash/0" "$BACK/.Trash/0"/{files,info}
# It may go before it has an entry, or with that.
touch "$MNT/shared"
rm "$MNT/shared"
settled
wait_until '[ -z "$(ls "$BACK/.Trash/0/files" "$BACK/.Trash/0/info" | grep -v :)" ]'
# The entry is a tree that is deeper than a thread's stack.
python3 - "$BACK/.Trash/0/files" <<'END'
import os, sys
os.chdir(sys.argv[1])
os.mkdir("early")
os.chdir("early")
for i in range(12000):
    os.mkdir("d")
    os.chdir("d")
END
touch "$BACK/.Trash/0/info/early.trashinfo"
expect_ok "$WINDLASS" fault "$MNT" - <<<'create path "/full" -> error ENOSPC'
expect_error 'No space' touch "$MNT/full"
wait_until '[ -z "$(ls "$BACK/.Trash/0/files" "$BACK/.Trash/0/info" | grep -v :)" ]'

# The same for any operation that finds no space, also one whose answer trash does not see; the
# answer is the same.
for op in writev mkdir setxattr; do
    mkdir -p "$BACK/.Trash/0/files/old"
    printf '[Trash Info]\nPath=old\nDeletionDate=2001-01-01T00:00:00\n' >"$BACK/.Trash/0/info/old.trashinfo"
    expect_ok "$WINDLASS" fault "$MNT" - <<<"$op path \"/no-space*\" -> error ENOSPC"
    touch "$MNT/no-space"
    case $op in
    writev) expect_error 'No space left' dd if=/dev/zero of="$MNT/no-space" bs=4k count=1 oflag=sync conv=notrunc ;;
    mkdir) expect_error 'No space left' mkdir "$MNT/no-space-directory" ;;
    setxattr) expect_error 'No space left' python3 -c \
        'import os, sys; os.setxattr(sys.argv[1], "user.a", b"b")' "$MNT/no-space" ;;
    esac
    wait_until '[ -z "$(ls "$BACK/.Trash/0/files" "$BACK/.Trash/0/info" | grep -v :)" ]'
done
expect_ok "$WINDLASS" fault "$MNT" - <<<""
unmount

# The oldest go first, also of those that were removed in one second. A time to come makes an entry
# no younger than the last change of its information file.
rm -r "$BACK"/.Trash*
stack features/trash,settle=300ms,max-total=300KB
mount_volfile "$VOL"
for name in z y x q b a; do
    head -c 90K /dev/zero >"$MNT/$name"
    rm "$MNT/$name"
    sleep 0.02 # the clock of a file system has a step of some milliseconds
done
wait_until '[ "$(entries)" = "a b q" ]'
touch -d 2099-01-01 "$BACK/.Trash-0/info/q.trashinfo"
sleep 0.02
for name in 3 2 1; do
    head -c 90K /dev/zero >"$MNT/$name"
    rm "$MNT/$name"
    sleep 0.02
done
wait_until '[ "$(entries)" = "1 2 3" ]'
unmount

# Half a tree is no entry: neither a look at the limits that is stopped leaves one, nor a command.
# The next of them removes the rest.
rm -r "$BACK"/.Trash*
files () { ls "$BACK/.Trash-0/files/tree" 2>/dev/null | wc -l; }
tree () {
    mkdir -p "$BACK/.Trash-0"/{info,files/tree}
    touch "$BACK/.Trash-0/files/tree"/{1..60}
    printf '[Trash Info]\nPath=tree\nDeletionDate=2020-01-01T00:00:00\n' >"$BACK/.Trash-0/info/tree.trashinfo"
    touch -d 2020-01-01 "$BACK/.Trash-0/info/tree.trashinfo"
}
# half JOB: stops a job of that name once it has begun to remove the tree.
half () {
    wait_until '[ "$(files)" -lt 60 ]'
    expect_ok "$WINDLASS" jobs stop "$MNT" \
        "$("$WINDLASS" jobs list "$MNT" | sed -n "s/^job \([0-9]*\): $1.*/\1/p")"
    wait_until '! "$WINDLASS" jobs list "$MNT" | grep -q "'"$1"'"'
    [ "$(files)" -gt 0 ] || fail "$1: the whole tree went"
    expect "entries after half of $1" "" "$("$WINDLASS" trash list "$MNT")"
    expect_error 'no entry' "$WINDLASS" trash restore "$MNT" tree
}
stack debug/delay-gen,enable=lookup,delay-percentage=100,delay-duration=20000 \
    features/trash,settle=50ms,max-age=0
tree
mount_volfile "$VOL"
ls "$MNT" >/dev/null
"$WINDLASS" trash empty "$MNT" tree >/dev/null 2>&1 &
half empty
wait $!
expect_ok "$WINDLASS" trash empty "$MNT"
expect "what is left" "" "$(ls "$BACK/.Trash-0/info" "$BACK/.Trash-0/files" | grep -v :)"
tree
sed -i 's/max-age .*/max-age 1d/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
half settle
sed -i 's/max-age .*/max-age 2d/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
wait_until '[ -z "$(ls "$BACK/.Trash-0/info" "$BACK/.Trash-0/files" | grep -v :)" ]'
unmount
