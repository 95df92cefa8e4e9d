#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Removing always works: where the trash can't take a file, it is removed for good and counted.
# Errors of the removal itself stay. Links of one file that many processes remove at once: the last
# one is kept.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

stack debug/fault features/trash,settle=50ms
mount_volfile "$VOL"

# without RULE ERRNO: neither a new directory nor one that has a stage already.
lost=0
without () {
    touch "$MNT/dir/staged"
    rm "$MNT/dir/staged"
    expect_ok "$WINDLASS" fault "$MNT" - <<<"$1 path \"/.windlass-trash*\" -> error $2"
    mkdir "$MNT/new"
    touch "$MNT/new/file" "$MNT/dir/file"
    expect_ok rm -r "$MNT/new" "$MNT/dir/file"
    expect_match "explain" "names were removed for good instead, lastly for $2" "$("$WINDLASS" explain "$MNT")"
    expect_ok "$WINDLASS" fault "$MNT" - <<<""
}
mkdir "$MNT/dir"
for errno in ENOSPC EDQUOT EMLINK EROFS EXDEV EIO; do
    without mkdir $errno
done
settled

# The caller's own rights.
chmod 755 "$MNT" "$BACK"
mkdir -m 755 "$MNT/closed"
touch "$MNT/closed/file"
mkdir -m 1777 "$MNT/sticky"
touch "$MNT/sticky/file"
unmount
mount_volfile "$VOL" -o allow_other
expect_error 'Permission denied' user rm -f "$MNT/closed/file"
expect_error 'Operation not permitted' user rm -f "$MNT/sticky/file"
user touch "$MNT/sticky/own"
expect_ok user rm "$MNT/sticky/own"
settled
expect "of the user" sticky/own "$(entries 65534)"
expect "its rights" "700 65534" "$(stat -c '%a %u' "$MNT/.Trash-65534")"
expect "the entry's" "65534 65534" "$(stat -c %u "$MNT/.Trash-65534"/{files/own,info/own.trashinfo} | xargs)"
expect_error 'Permission denied' user ls "$MNT/.Trash-0"

# Links.
python3 - "$MNT" <<'EOF2' || fail "links were lost"
import os, sys
root, files, links = sys.argv[1], 100, 8
for link in range(links):
    os.mkdir(f'{root}/links{link}')
for file in range(files):
    with open(f'{root}/links0/{file}', 'w') as f:
        f.write(f'text {file}')
    for link in range(1, links):
        os.link(f'{root}/links0/{file}', f'{root}/links{link}/{file}')
children = []
for link in range(links):
    child = os.fork()
    if child == 0:
        for file in range(files):
            os.unlink(f'{root}/links{link}/{file}')
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
EOF2
settled
expect "one of each file" 100 "$(cat "$MNT"/.Trash-0/files/[0-9]* | sed 's/text/\n&/g' | grep text | sort -u | wc -l)"
expect "and no more" 100 "$(entries | xargs -n1 | grep -c ^links)"
unmount

# A directory gets another name while the first stage is made.
mount_volfile "$VOL"
expect_ok "$WINDLASS" fault "$MNT" - <<<'mkdir path "/.windlass-trash*" -> delay 500ms'
mkdir "$MNT/busy" "$MNT/aside"
touch "$MNT/busy/meanwhile"
rm "$MNT/busy/meanwhile" &
sleep 0.2
mv "$MNT/aside" "$MNT/elsewhere"
wait $!
expect_ok "$WINDLASS" fault "$MNT" - <<<""
settled
expect_match "a rename meanwhile" 'busy/meanwhile' "$(entries)"
unmount

# Somebody removes the stages: others are made.
stack features/trash,settle=1h
mount_volfile "$VOL"
mkdir "$MNT/swept"
touch "$MNT/swept/first" "$MNT/swept/second"
rm "$MNT/swept/first"
rm -r "$BACK/.windlass-trash"
expect_ok rm "$MNT/swept/second"
expect_no_match "explain" "for good" "$("$WINDLASS" explain "$MNT")"
unmount
expect_match "a new stage" "swept/second" "$(cat "$BACK/.Trash-0"/info/*.trashinfo)"

# No space for an entry: the file stays in its stage until there is some. A trash that no file can
# be moved to: for good, and counted.
stack debug/fault features/trash,settle=50ms
mount_volfile "$VOL"
for errno in ENOSPC EDQUOT; do
    expect_ok "$WINDLASS" fault "$MNT" - <<<"create path \"/.Trash-0/*\" -> error $errno"
    mkdir "$MNT/$errno"
    touch "$MNT/$errno/early"
    rm "$MNT/$errno/early"
    wait_until "grep -q '/$errno.*stays in' '$LOG'"
    expect_no_match "explain" "for good" "$("$WINDLASS" explain "$MNT")"
done
expect_ok "$WINDLASS" fault "$MNT" - <<<""
unmount
expect "made later" "EDQUOT/early ENOSPC/early" \
    "$(cat "$BACK/.Trash-0"/info/*.trashinfo | sed -n 's/^Path=//p' | grep early | sort | xargs)"
mount_volfile "$VOL"
expect_ok "$WINDLASS" fault "$MNT" - <<<'rename path "/.windlass-trash/*" -> error EXDEV'
touch "$MNT/apart"
rm "$MNT/apart"
wait_until '"$WINDLASS" explain "$MNT" | grep -q "for good instead, lastly for EXDEV"'
settled
unmount

# Directories that are deeper than any path (4,096 levels): a file and a directory there are counted.
stack features/trash,settle=50ms
mount_volfile "$VOL"
python3 - "$MNT" <<'EOF2' || fail "not removed"
import os, sys
os.chdir(sys.argv[1])
for i in range(4200):
    os.mkdir('d')
    os.chdir('d')
open('file', 'w').close()
if os.fork() == 0: # another process: what a process makes and removes itself is temporary
    os.unlink('file')
    os.chdir('..')
    os.rmdir('d')
    os._exit(0)
sys.exit(os.wait()[1] != 0)
EOF2
expect_match "deep" "2 names were removed for good instead, lastly for ENAMETOOLONG" "$("$WINDLASS" explain "$MNT")"
unmount
