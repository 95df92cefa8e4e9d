#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is said when something is wrong with a volume: a directory with several gfids, a name that is
# a file and a directory, bricks of different volumes, no brick that is there, a brick without room.
# Each sentence names the bricks and says what to do.
# through: device
. "$(dirname "$0")/../brick/lib.sh"
need_command getfattr setfattr
for name in a b c; do
    brick $name
done

# says REGEX: the log has a line like this.
says () {
    expect_match "the log" "$1" "$(cat "$LOG")"
}

# A new name in a directory whose hash the brick has
new_on () {
    number=0
    while
        number=$((number + 1))
        [ "$(getfattr --absolute-names --only-values -n "dht.file.hashed-subvol.$3$number" "$2")" != \
            "c-$1" ]
    do :; done
    name=$3$number
}

distribute_volfile "$VOL" a b
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0 --negative-timeout=0
new_on a "$MNT" mixed
mixed=$name
mkdir "$MNT/dir" "$MNT/$mixed"
gfid=$(getfattr -n trusted.gfid -e hex a.d/dir | sed -n 's/^trusted.gfid=//p')
echo text >"$MNT/file"

# --- contradictions -------------------------------------------------------------------------------

rmdir b.d/$mixed && echo text >b.d/$mixed
setfattr -n trusted.gfid -v 0x00112233445566778899aabbccddeeff b.d/$mixed
expect_error 'Input/output error' ls "$MNT/$mixed"
says "'/$mixed' is a directory and a file: a directory on c-a \(gfid .*\), a file on c-b .*; remove the \
wrong ones on the bricks"
other=0x0123456789abcdef0123456789abcdef
brick_stop b
rm -r b.d/.glusterfs/*/*/"$(sed 's/^0x\(.\{8\}\)\(.\{4\}\)\(.\{4\}\)\(.\{4\}\)\(.*\)/\1-\2-\3-\4-\5/' \
    <<<"$gfid")" b.d/$mixed
setfattr -n trusted.gfid -v $other b.d/dir
brick_start b
wait_until "! ls '$MNT/dir' 2>/dev/null && grep -q 'must have one gfid' '$LOG'"
says "the directory '/dir' must have one gfid on all subvolumes, got .* on c-a, \
01234567-89ab-cdef-0123-456789abcdef on c-b; remove the wrong ones on the bricks"
expect_error 'Input/output error' ls "$MNT/dir"
expect_error 'Input/output error' touch "$MNT/dir/new"
expect "another file" text "$(cat "$MNT/file")"
unmount

# --- bricks of different volumes ------------------------------------------------------------------

setfattr -n trusted.glusterfs.volume-id -v 0x11111111111111111111111111111111 a.d
setfattr -n trusted.glusterfs.volume-id -v 0x22222222222222222222222222222222 c.d
range=$(getfattr -n trusted.glusterfs.dht -e hex a.d)
distribute_volfile "$VOL" a c
"$WINDLASS" -f "$VOL" -l "$LOG" -p "$TEST_DIR/pid" "$MNT" 2>err && DAEMON=$(cat "$TEST_DIR/pid")
[ -z "$DAEMON" ] || expect_error 'Input/output error' ls "$MNT"
says "all subvolumes must be bricks of one volume \(trusted.glusterfs.volume-id\), got c-a of 11111111-.*, \
c-c of 22222222-.*; correct remote-host and remote-subvolume of the wrong ones in the volfile"
[ -z "$DAEMON" ] || unmount
expect "the range of the first brick" "$range" "$(getfattr -n trusted.glusterfs.dht -e hex a.d)"
expect_error '' getfattr -n trusted.glusterfs.dht c.d
setfattr -n trusted.glusterfs.volume-id -v 0x11111111111111111111111111111111 c.d

# --- no room --------------------------------------------------------------------------------------

distribute_volfile "$VOL" a c
sed -i 's/^volume c-c$/volume roomy/; s/^volume all$/volume c-c\
    type debug\/error-gen\
    option failure 100%\
    option error-fops mkdir\
    option error-no ENOSPC\
    subvolumes roomy\
end-volume\
&/' "$VOL"
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
expect_ok ls "$MNT"
new_on c "$MNT" d
expect_error 'No space left' mkdir "$MNT/$name"
says "'/$name' can't be made on c-c, which has the hash of its name: No space left on device; \
names with other hashes can"
new_on a "$MNT" d
expect_ok mkdir "$MNT/$name"
says "the new directory '/$name' could not be made on c-c: No space left on device; its files go to \
other subvolumes until a lookup has made it there"
for i in {1..10}; do
    echo $i >"$MNT/$name/$i" || fail "no file can be made in it"
done
expect "the files" 10 "$(ls a.d/$name | wc -l)"
sed -i 's/failure 100%/failure 0%/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
wait_until "ls '$MNT/$name' >/dev/null && [ -d 'c.d/$name' ]"
unmount

# --- no brick -------------------------------------------------------------------------------------

brick_kill a
brick_kill c
expect_error "no server listens at 127.0.0.1, port ${BRICK_PORT[a]}" \
    "$WINDLASS" -f "$VOL" -l "$LOG" "$MNT"
