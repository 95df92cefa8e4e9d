#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# layout gluster: what GlusterFS 10.3 does not do, or does otherwise. gluster.sh compares the rest.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

# kept NAME: what is kept of a file, without the times.
kept () {
    find "$BACK/.trashcan" -name "$1_20*" -printf '%M %u %s %f\n' |
        sed -E 's/_20[0-9]{2}-[0-9]{2}-[0-9]{2}_[0-9]{6}_\+0000/_TIME/' | sort | xargs
}

# Its storage refuses the copy of a file that becomes shorter.
stack features/trash,layout=gluster,trash=on,trash-max-filesize=100000
mount_volfile "$VOL"
mkdir "$MNT/dir"
for name in opened cut grown linked; do
    echo "the text of $name" >"$MNT/dir/$name"
done
chown 65534 "$MNT/dir/cut"
chmod 640 "$MNT/dir/cut"
ln "$MNT/dir/linked" "$MNT/dir/link"
head -c 300K /dev/urandom >"$MNT/large"
head -c 90000 /dev/urandom >"$MNT/blocks"
cp "$MNT/blocks" blocks
: >"$MNT/dir/opened"
truncate -s 3 "$MNT/dir/cut" "$MNT/dir/linked" "$MNT/large" "$MNT/blocks"
truncate -s 100 "$MNT/dir/grown"
expect "O_TRUNC" "-rw-r--r-- root 19 opened_TIME" "$(kept opened)"
expect "its text" "the text of opened" "$(cat "$BACK"/.trashcan/dir/opened*)"
expect "truncate" "-rw-r----- $(id -nu 65534) 16 cut_TIME" "$(kept cut)"
expect "a larger file" 0 "$(cmp blocks "$BACK"/.trashcan/blocks_*; echo $?)"
expect "what is not copied" "" "$(kept grown)$(kept linked)$(kept large)"
expect "what is left" "0 3 3 3" "$(cd "$BACK" && stat -c %s dir/opened dir/cut dir/linked blocks | xargs)"
truncate -s 5 "$MNT/.trashcan"/blocks_*
expect "a file in the trash" "$(kept blocks)" "-rw-r--r-- root 5 blocks_TIME"

# A truncation that fails leaves no copy.
echo another >"$MNT/dir/busy"
chattr +i "$BACK/dir/busy" 2>/dev/null && {
    expect_error 'not permitted' python3 -c 'import os, sys; os.truncate(sys.argv[1], 1)' \
        "$MNT/dir/busy"
    chattr -i "$BACK/dir/busy"
    expect "after a failure" "" "$(kept busy)"
}

# Its removal of a name that is too long with the time is none, and a second file of one second
# replaces the first.
long=$(printf 'x%.0s' {1..250})
echo long >"$MNT/$long"
rm "$MNT/$long"
expect "a long name" "" "$(find "$BACK" -maxdepth 1 -name "xxx*")"
expect "what is kept of it" long "$(cat "$BACK"/.trashcan/xxx*)"
for text in 1 2 3; do
    echo $text >"$MNT/dir/same"
    rm "$MNT/dir/same"
done
expect "files of one name" "1 2 3" "$(cat "$BACK"/.trashcan/dir/same* | sort | xargs)"

# A user may put there what he may remove, and only that; who removes for good is told.
mkdir "$MNT/home"
chown 65534 "$MNT/home"
chmod 700 "$MNT/home"
user sh -c "echo mine >'$MNT/home/mine'; rm '$MNT/home/mine'"
expect_error 'denied' user rm -f "$MNT/dir/grown"
expect "a user's" "-rw-r--r-- $(id -nu 65534) 5 mine_TIME" "$(kept mine)"
expect "the directory" "drwx------ $(id -nu 65534)" "$(stat -c '%A %U' "$BACK/.trashcan/home")"
expect_no_match "explain" "for good instead" "$("$WINDLASS" explain "$MNT/home")"

# Nobody reads in the trash what could not be read before: where somebody else has the name in the
# trash, and where the directory was made private.
mkdir -m 1777 "$MNT/shared" "$BACK/.trashcan/shared"
touch "$MNT/shared/first"
rm "$MNT/shared/first"
user mkdir -m 777 "$MNT/.trashcan/shared/private"
mkdir -m 700 "$MNT/shared/private"
mkdir "$MNT/shared/later"
chown 1234 "$MNT/shared/private" "$MNT/shared/later"
setpriv --reuid 1234 --regid 1234 --clear-groups sh -c 'cd "$1/shared" && echo secret >private/text &&
    rm private/text && touch later/open && rm later/open && chmod 700 later &&
    echo secret >later/text && rm later/text' - "$MNT"
expect "what is kept" 2 "$(grep -rl secret "$BACK/.trashcan/shared" | wc -l)"
expect "what others read" "" "$(user grep -rls secret "$MNT/.trashcan/shared")"

# 40 processes remove 20 files that have two names each: one of each is kept.
mkdir "$MNT/links"
for i in {1..20}; do
    echo "$i" >"$MNT/links/a$i"
    ln "$MNT/links/a$i" "$MNT/links/b$i"
done
for name in {a,b}{1..20}; do
    rm "$MNT/links/$name" &
    removers+=($!)
done
wait "${removers[@]}"
expect "links" "$(seq 20 | sort | xargs)" "$(cat "$BACK"/.trashcan/links/* | sort | xargs)"
unmount

# Off by default; options of the other layout are refused.
sed -i 's|option trash "on"|option trash-internal-op off|' "$VOL"
mount_volfile "$VOL" 2>said
expect_match "the terminal" "trash-1: keeps nothing that is removed" "$(cat said)"
echo gone >"$MNT/gone"
rm "$MNT/gone"
expect "off" "" "$(kept gone)"
expect_match "explain" "keeps nothing" "$("$WINDLASS" explain "$MNT/dir")"
expect "told" 1 "$(grep -c "keeps nothing that is removed: .* unless 'option trash on' is set" "$LOG")"
for command in list empty "restore /gone"; do
    # shellcheck disable=SC2086
    expect_error "for layout freedesktop; .* lie in /.trashcan, and mv" \
        "$WINDLASS" trash ${command%% *} "$MNT" ${command#"${command%% *}"}
done
unmount
sed -i 's|option trash-internal-op off|option trash off|' "$VOL"
mount_volfile "$VOL"
expect "meant" 1 "$(grep -c "keeps nothing that is removed" "$LOG")"
unmount
sed -i 's|option trash off|option max-age 1d|' "$VOL"
expect_error "'max-age' can't be used with 'layout gluster'" "$WINDLASS" -f "$VOL" "$MNT"
