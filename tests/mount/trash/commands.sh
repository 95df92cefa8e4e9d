#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass trash list, restore and empty: by path and by name, odd names, what is not replaced, and
# that a user meets what is his alone.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command python3

stack features/trash,settle=1h
chmod 755 "$TEST_DIR"
mount_volfile "$VOL"
umask 022
listed () { "$WINDLASS" trash list "$MNT" "$@" | cut -c 35- | cut -f 1 | sort | xargs -d '\n'; }
restore () { "$WINDLASS" trash restore "$MNT" "$@"; }

# What was just removed is there at once, with its size; a directory has none.
mkdir -p "$MNT/tree/deep" "$MNT/dir"
echo text >"$MNT/dir/file"
echo deep >"$MNT/tree/deep/file"
touch -d 2001-01-01 "$MNT/tree"
rm -r "$MNT/tree"
rm "$MNT/dir/file"
expect "list" "dir/file tree/" "$(listed)"
expect_match "a line" "^[-0-9]{10} [:0-9]{8}            5  dir/file	file$" \
    "$("$WINDLASS" trash list "$MNT" dir/file)"
expect "restore" "restored 2 entries" "$(restore "$MNT/dir/file" tree/)"
expect "restored" "text deep" "$(cat "$MNT/dir/file" "$MNT/tree/deep/file" | xargs)"
expect "its time" 2001-01-01 "$(date -r "$MNT/tree" +%F)"
expect "list" "" "$(listed)"
expect "nothing to restore" "the trash has no entry to restore" "$(restore /)"
expect "what is left" "" "$(find "$MNT/.Trash-0" -type f)"

# Odd names.
long=$(printf 'é%.0s' {1..127})a
names=("$long" $'new\nline' $'bad\xff' '100%' ' blank' '-f' 'back\slash' $'tab\there')
for name in "${names[@]}"; do
    echo "$name" >"$MNT/dir/$name"
done
rm "$MNT"/dir/*
expect_match "an odd name" '  dir/new\\x0aline	new\\x0aline$' "$("$WINDLASS" trash list "$MNT")"
"$WINDLASS" trash list "$MNT" --json >list.json || fail "no JSON"
python3 - "${names[@]}" <<'END' || fail "the JSON is wrong"
import json, os, sys, urllib.parse
listed = json.load(open("list.json"))
paths = {urllib.parse.unquote_to_bytes(one["path_encoded"]) for one in listed}
wanted = {b"dir/" + os.fsencode(name) for name in sys.argv[1:]} | {b"dir/file"}
assert paths == wanted, paths ^ wanted
assert all(one["user"] == 0 and not one["directory"] and one["size"] > 0 for one in listed)
END
expect "restore" "restored 2 entries" "$(restore $'dir/new\nline' $'/dir/bad\xff')"
expect "restore" "restored 7 entries" "$(restore dir)"
for name in "${names[@]}"; do
    expect "content" "$name" "$(cat "$MNT/dir/$name")"
done
rm "$MNT"/dir/*
for command in empty restore; do
    expect_error 'an argument is empty' "$WINDLASS" trash $command "$MNT" ""
done
"$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"

# Nothing is replaced. Of several entries of a path the newest comes back; the others by their names.
for text in 1 2 3; do
    echo $text >"$MNT/name"
    rm "$MNT/name"
    listed >/dev/null
done
for text in 1 2 3; do # name.N is the N-th one, name the first
    entry=name.$text
    [ $text != 1 ] || entry=name
    sed -i "s/^DeletionDate=.*/DeletionDate=2026-01-01T00:00:0$text/" "$BACK/.Trash-0/info/$entry.trashinfo"
done
expect "restore" "restored 1 entry" "$(restore /)"
expect "the newest" 3 "$(cat "$MNT/name")"
out=$(restore name 2>&1) && fail "a file was replaced"
expect_match "a name that is taken" "^'name' is not restored: exists again" "$out"
expect "the newest" 3 "$(cat "$MNT/name")"
mv "$MNT/name" "$MNT/third"
expect "by name" "restored 1 entry" "$(restore --names name)"
expect "the first" 1 "$(cat "$MNT/name")"
mv "$MNT/name" "$MNT/first"
expect "by path" "restored 1 entry" "$(restore name)"
expect "the second" 2 "$(cat "$MNT/name")"
out=$(restore name nothing 2>&1) && fail "what is not there was restored"
expect_match "nothing" "no entry of the trash has the path or the name 'nothing'" "$out"

# Of those that were removed within one second, too.
rm -f "$MNT"/{first,second,third,name}
"$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"
for text in 3 4 5; do
    echo $text >"$MNT/name"
    rm "$MNT/name"
    listed >/dev/null
done
sed -i 's/^DeletionDate=.*/DeletionDate=2026-01-01T00:00:00/' "$BACK/.Trash-0/info/"name*
for text in 3 4 5; do
    entry=name.$((text - 2))
    [ $text != 3 ] || entry=name
    touch -d "2026-01-01 00:00:00.$text" "$BACK/.Trash-0/info/$entry.trashinfo"
done
expect "restore" "restored 1 entry" "$(restore name)"
expect "the newest" 5 "$(cat "$MNT/name")"
"$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"
rm "$MNT/name"
listed >/dev/null
"$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"

# An information file without a file is an error only for who asks for it.
printf '[Trash Info]\nPath=ghost/file\nDeletionDate=2026-01-01T00:00:00\n' >"$BACK/.Trash-0/info/ghost.trashinfo"
echo >"$BACK/.Trash-0/info/blank.trashinfo"
expect_ok "$WINDLASS" trash restore "$MNT" ghost/
expect_ok "$WINDLASS" trash restore "$MNT" /
expect_error 'is not restored: the entry has no file' "$WINDLASS" trash restore "$MNT" ghost/file
expect_error 'is not restored: the entry has no file' "$WINDLASS" trash restore "$MNT" --names blank
rm "$BACK/.Trash-0/info/"{ghost,blank}.trashinfo

# Directories above that are missing are made for the user alone. A link is not followed.
mkdir -p "$MNT/one/two" "$MNT/other"
touch "$MNT/one/two/file" "$MNT/one/two/second"
rm "$MNT/one/two/file"
listed >/dev/null
rm "$MNT/one/two/second"
listed >/dev/null
rmdir "$MNT/one/two" "$MNT/one"
expect_match "missing directories" "^'one' was missing" "$(restore one/two/file)"
expect "modes" "700 700" "$(stat -c %a "$MNT/one" "$MNT/one/two" | xargs)"
rm -r "$MNT/one"
ln -s other "$MNT/one"
expect_match "a link above" "symbolic links are not followed" "$(restore one/two/second 2>&1)"
rm "$MNT/one"
expect "the other directory" "" "$(ls "$MNT/other")"
"$WINDLASS" trash empty "$MNT" >/dev/null || fail "not emptied"

# Older than; a tree whose rights were taken away; files without information.
mkdir -p "$MNT/old/below"
touch "$MNT/old/below/file" "$MNT/new"
rm -r "$MNT/old"
listed >/dev/null
sed -i 's/^DeletionDate=.*/DeletionDate=2026-01-01T00:00:00/' "$BACK/.Trash-0/info/old.trashinfo"
rm "$MNT/new"
expect "older" old/ "$(listed --older 5d)"
expect "empty" "removed 1 entry for good" "$("$WINDLASS" trash empty "$MNT" --older 5d)"
expect "the newer one" new "$(listed)"
touch "$BACK/.Trash-0/files/orphan" "$BACK/.Trash-0/info/just-made.trashinfo"
expect "empty" "removed 1 entry for good" "$("$WINDLASS" trash empty "$MNT")"
expect "what is left" just-made.trashinfo "$(ls "$MNT"/.Trash-0/{info,files} | grep -v : | xargs)"
rm "$MNT/.Trash-0/info/"*

# Users.
as () { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
for uid in 1234 1235; do
    install -d -o $uid -g $uid "$MNT/of$uid"
    as $uid mkdir "$MNT/of$uid/dir"
    as $uid touch "$MNT/of$uid/file" "$MNT/of$uid/dir/file"
    as $uid chmod 500 "$MNT/of$uid/dir"
    as $uid rm -rf "$MNT/of$uid/file"
    as $uid chmod 700 "$MNT/of$uid/dir"
    as $uid rm -r "$MNT/of$uid/dir"
done
theirs () { as "$1" "$WINDLASS" trash list "$MNT" "${@:2}" | cut -c 35- | cut -f 1 | sort | xargs; }
expect "of a user" "of1234/dir/ of1234/file" "$(theirs 1234)"
expect "of root" "" "$(listed)"
expect "root, of a user" "of1235/dir/ of1235/file" "$(listed --user 1235 | xargs)"
expect "root, of all" 4 "$("$WINDLASS" trash list "$MNT" --all | wc -l)"
expect_error 'only root may' as 1234 "$WINDLASS" trash list "$MNT" --user 1235
expect_error 'only root may' as 1234 "$WINDLASS" trash empty "$MNT" --all
expect_error 'json is not for restore' "$WINDLASS" trash restore "$MNT" --json x
expect_match "of another user" "no entry" "$(as 1234 "$WINDLASS" trash restore "$MNT" of1235/file 2>&1)"
chown 0:0 "$MNT/of1234"
expect_match "without the right" "permission denied" \
    "$(as 1234 "$WINDLASS" trash restore "$MNT" of1234/file 2>&1)"
expect_match "root, as that user" "permission denied" \
    "$("$WINDLASS" trash restore "$MNT" --user 1234 of1234/file 2>&1)"
chown 1234:1234 "$MNT/of1234"
expect "restore" "restored 2 entries" "$(as 1234 "$WINDLASS" trash restore "$MNT" of1234)"
expect "whose" "1234 1234" "$(stat -c %u "$MNT/of1234/file" "$MNT/of1234/dir" | xargs)"
expect "root, of a user" "restored 1 entry" \
    "$("$WINDLASS" trash restore "$MNT" --user 1235 of1235/file)"
expect "empty" "removed 1 entry for good" "$("$WINDLASS" trash empty "$MNT" --all)"
expect "jobs" "" "$("$WINDLASS" jobs list "$MNT")"
unmount

# More entries than the daemon may have open files.
ulimit -n 300
mount_volfile "$VOL"
mkdir "$MNT/many"
(cd "$MNT/many" && touch {1..500} && rm {1..500})
expect "restore" "restored 500 entries" "$(restore many)"
(cd "$MNT/many" && rm {1..500})
expect "empty" "removed 500 entries for good" "$("$WINDLASS" trash empty "$MNT")"
unmount

# An entry that got the name of an older one while the command worked stays.
stack debug/fault features/trash,settle=10ms
mount_volfile "$VOL"
touch "$MNT/a" "$MNT/b"
rm "$MNT/a" "$MNT/b"
wait_until '[ -e "$BACK/.Trash-0/files/a" ] && [ -e "$BACK/.Trash-0/files/b" ]'
expect_ok "$WINDLASS" fault "$MNT" - <<<'unlink path "/.Trash-0/files/a" -> hang name stuck'
"$WINDLASS" trash empty "$MNT" a b >told 2>&1 &
emptier=$!
wait_until '"$WINDLASS" inflight "$MNT" | grep -q unlink'
echo young >young
printf '[Trash Info]\nPath=b\nDeletionDate=2026-01-01T00:00:00\n' >young.trashinfo
mv young "$BACK/.Trash-0/files/b"
mv young.trashinfo "$BACK/.Trash-0/info/b.trashinfo"
expect_ok "$WINDLASS" fault "$MNT" --release stuck
wait $emptier && fail "the exit status does not tell it"
expect_match "the younger one" "^'b' stays in the trash: a younger entry has its name by now" "$(cat told)"
expect "what is left" young "$(cat "$BACK"/.Trash-0/files/*)"
unmount

# A mount that is read-only.
mount_volfile "$VOL" -o ro
expect_match "list" ' b' "$("$WINDLASS" trash list "$MNT")"
expect_error 'empty changes the trash, and the mount is read-only' "$WINDLASS" trash empty "$MNT"
expect_error 'restore changes the trash, and the mount is read-only' "$WINDLASS" trash restore "$MNT" b
expect "what is left" young "$(cat "$BACK"/.Trash-0/files/*)"
unmount
