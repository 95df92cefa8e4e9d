#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# keep truncated: what a file had before it was cut or opened for writing is in the trash, by a
# reflink, or, with `copy on`, as a copy.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

# kept NAME: what is kept of it: each text.
kept () {
    cat "$MNT"/.Trash-0/files/"$1"* 2>/dev/null | sort | xargs
}

# opened MODE FILE [TEXT]: opens it, and writes the text over its beginning.
opened () {
    python3 - "$@" <<'EOF2'
import os, sys
flags = {'r': os.O_RDONLY, 'w': os.O_WRONLY, 'rw': os.O_RDWR, 'a': os.O_WRONLY | os.O_APPEND}
fd = os.open(sys.argv[2], flags[sys.argv[1]])
if len(sys.argv) > 3:
    os.write(fd, sys.argv[3].encode())
os.close(fd)
EOF2
}

# mapped FILE: writes by a shared mapping, after the file was closed.
mapped () {
    python3 - "$1" <<'EOF2'
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
data = mmap.mmap(fd, 5)
os.close(fd)
data[0:5] = b'MAPPD'
data.close()
EOF2
}

# changes: each way to lose content, and what is no loss.
changes () {
    local name
    for name in emptied cut fcut written mapped; do
        echo "old $name" >"$MNT/$name"
    done
    for name in read unchanged appended grown touched same; do
        echo "old $name" >"$MNT/$name"
    done
    sleep 0.2 # so that the times tell whether they change
    : >"$MNT/emptied"
    python3 -c 'import os, sys; os.truncate(sys.argv[1], 3)' "$MNT/cut"
    python3 -c 'import os, sys; os.ftruncate(os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND), 3)' "$MNT/fcut"
    opened w "$MNT/written" NEW
    mapped "$MNT/mapped"
    opened r "$MNT/read"
    opened rw "$MNT/unchanged"
    touch "$MNT/touched"
    opened w "$MNT/same" "old same"
    opened a "$MNT/appended" more
    python3 -c 'import os, sys; os.truncate(sys.argv[1], 100)' "$MNT/grown"
    settled
    for name in emptied cut fcut written mapped; do
        wait_until "[ -n \"\$(kept $name)\" ]"
        expect "$name" "old $name" "$(kept $name)"
    done
    settled
    for name in read unchanged appended grown touched same; do
        expect "$name" "" "$(kept $name)"
    done
    expect "what is left" "0 3 3 NEW MAPPD" "$(stat -c %s "$MNT"/{emptied,cut,fcut} | xargs) $(head -c3 "$MNT/written") $(head -c5 "$MNT/mapped")"
    expect_no_match "explain" "without a copy" "$("$WINDLASS" explain "$MNT")"
}

# The bytes are copied, with owner, mode, times and attributes.
stack features/trash,keep=truncated,copy=on,max-filesize=100000,settle=50ms,temporaries=0
mount_volfile "$VOL"
changes
echo secret >"$MNT/secret"
chmod 640 "$MNT/secret"
chown 1234:1235 "$MNT/secret"
setfattr -n user.mark -v value "$MNT/secret" 2>/dev/null && mark=value
python3 -c 'import os, sys; os.utime(sys.argv[1], (10**9, 10**9))' "$MNT/secret"
: >"$MNT/secret"
wait_until '[ -n "$(kept secret)" ]'
expect "its attributes" "640 1234 1235 7 2001" \
    "$(stat -c '%a %u %g %s' "$MNT/.Trash-0/files/secret") $(date -r "$MNT/.Trash-0/files/secret" +%Y)"
[ -z "${mark-}" ] || expect "an attribute of it" value "$(getfattr --only-values -n user.mark "$MNT/.Trash-0/files/secret" 2>/dev/null)"
expect_ok "$WINDLASS" trash list "$MNT" /secret
head -c 200K /dev/zero >"$MNT/large"
: >"$MNT/large"
settled
expect "a large file" "" "$(ls "$MNT/.Trash-0/files" | grep large)"

# A truncation that fails leaves nothing, and a name that is kept twice in a stage has two entries.
echo fixed >"$MNT/fixed"
chattr +i "$BACK/fixed" 2>/dev/null && {
    expect_error 'not permitted' python3 -c 'import os, sys; os.truncate(sys.argv[1], 1)' "$MNT/fixed"
    chattr -i "$BACK/fixed"
    settled
    expect "after a failure" "" "$(kept fixed)"
}
echo one >"$MNT/twice"
echo two >"$MNT/twice"
rm "$MNT/twice"
wait_until '[ "$(kept twice)" = "one two" ]'

# The kernel takes a name for free that somebody has made since: it creates the file, and cuts it, or
# opens it, or does so and writes nothing.
unmount
mount_volfile "$VOL" --negative-timeout=600
for name in stale-cut stale-written stale-touched; do
    [ ! -e "$MNT/$name" ] || fail "$name is there"
    echo "old $name" >"$BACK/$name"
done
sleep 0.2
echo new >"$MNT/stale-cut"
python3 -c 'import os, sys
os.write (os.open (sys.argv[1], os.O_CREAT | os.O_WRONLY), b"NEW")' "$MNT/stale-written"
touch "$MNT/stale-touched"
settled
for name in stale-cut stale-written; do
    expect "$name" "old $name" "$(kept $name)"
done
expect "stale-touched" "" "$(kept stale-touched)"
rm "$MNT/stale-cut"
settled
expect "a file that its remover has only cut" "new old stale-cut" "$(kept stale-cut)"

# With passthrough the kernel writes by itself, after the copy.
unmount
PASSTHROUGH=auto mount_volfile "$VOL"
echo old >"$MNT/passed"
sleep 0.2
opened w "$MNT/passed" NEW
wait_until '[ -n "$(kept passed)" ]'
expect "passthrough" "old" "$(kept passed)"

# A file that is open is not kept by a look at the trash; a killed daemon leaves its copy.
echo held >"$MNT/held"
sleep 0.2
exec 7<>"$MNT/held"
printf x >&7
expect "while it is open" "" "$(kept held)"
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
exec 7>&-
umount -l "$MNT"
mount_volfile "$VOL"
wait_until 'ls "$MNT" >/dev/null; [ "$(kept held)" = held ]'
unmount

# Storage without reflinks, and no copies: told once, and counted. The switches are online.
[ "$(stat -f -c %T "$BACK")" != btrfs ] && [ "$(stat -f -c %T "$BACK")" != xfs ] && {
    sed -i 's/option copy "on"/option copy "off"/' "$VOL"
    mount_volfile "$VOL"
    echo text >"$MNT/lost"
    : >"$MNT/lost"
    echo text >"$MNT/lost"
    expect_match "explain" '^1 files were cut or opened for writing without a copy, lastly for EOPNOTSUPP' \
        "$("$WINDLASS" explain "$MNT" | sed 's/^ *//')"
    expect "told" 1 "$(grep -c "what 'lost' had before.*copy on" "$LOG")"
    sed -i 's/option copy "off"/option copy "on"/' "$VOL"
    expect_ok "$WINDLASS" reload "$MNT"
    : >"$MNT/lost"
    wait_until '[ "$(kept lost)" = text ]'
    unmount
}

# A reflink.
command -v mkfs.btrfs >/dev/null && truncate -s 128M image && mkfs.btrfs -q image 2>err &&
    mount -o loop image "$BACK" 2>err || skip "passed, but reflinks: needs mkfs.btrfs and loop devices"
stack features/trash,keep=truncated,settle=50ms,temporaries=0
mount_volfile "$VOL"
changes
head -c 40M /dev/urandom >"$BACK/blocks"
sum=$(md5sum <"$BACK/blocks")
sync -f "$BACK"
used=$(stat -f -c %f "$BACK")
: >"$MNT/blocks"
wait_until '[ -e "$MNT/.Trash-0/files/blocks" ]'
expect "the text" "$sum" "$(md5sum <"$MNT/.Trash-0/files/blocks")"
sync -f "$BACK"
[ $(( used - $(stat -f -c %f "$BACK") )) -lt 2000 ] || fail "the blocks were copied"
unmount
umount "$BACK"
