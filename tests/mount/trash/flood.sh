#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user floods the trash: the commands of others, the daemon's memory, a reload and the unmount do
# not suffer from it.
# builds: release
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command python3

chmod 755 "$TEST_DIR"
chmod 1777 "$BACK"
as () { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
# information NAME PATH: of an entry of user 1234, whose file is there as well.
information () {
    printf '[Trash Info]\nPath=%s\nDeletionDate=2026-01-01T00:00:00\n' "$2" \
        >"$BACK/.Trash-1234/info/$1.trashinfo"
    touch "$BACK/.Trash-1234/files/$1"
    chown 1234:1234 "$BACK/.Trash-1234"/{info/"$1.trashinfo",files/"$1"}
}
peak () { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$DAEMON/status"; } # KiB
for uid in 1234 1235; do
    install -d -o $uid -g $uid "$BACK/of$uid"
done
as 1234 mkdir -p -m 700 "$BACK/.Trash-1234"/{info,files}
stack features/trash,settle=1h
mount_volfile "$VOL"

# One goes on removing files. Another's commands are not late, nor incomplete.
as 1234 bash -c 'until [ -e "$2" ]; do : >"$1/x"; rm "$1/x"; done' - "$MNT/of1234" "$TEST_DIR/over" &
remover=$!
as 1235 touch "$MNT/of1235/file"
as 1235 rm "$MNT/of1235/file"
expect_ok as 1235 "$WINDLASS" trash list "$MNT"
expect_ok as 1235 "$WINDLASS" trash restore "$MNT" of1235/file
: >over
wait $remover
expect_ok as 1234 "$WINDLASS" trash empty "$MNT"
unmount

# All the numbers behind a name are taken.
stack features/trash,settle=50ms
mount_volfile "$VOL"
(cd "$BACK/.Trash-1234/info" && seq -f 'many.%.0f.trashinfo' 2 10001 | as 1234 xargs touch &&
    as 1234 touch many.trashinfo)
as 1234 touch "$MNT/of1234/many"
as 1234 rm "$MNT/of1234/many"
settled
expect "an entry of a name with many numbers" 1 "$(ls "$BACK/.Trash-1234/files" | wc -l)"
expect_ok as 1234 "$WINDLASS" trash restore "$MNT" of1234/many
rm "$BACK"/.Trash-1234/info/*

# A place below thousands of directories that are missing: what is told of them waits for its reader.
information deep "$(printf 'a/%.0s' {1..3000})x"
as 1234 "$WINDLASS" trash restore "$MNT" --names deep 2>&1 | head -c 1 >/dev/null
wait_until '"$WINDLASS" jobs list "$MNT" | grep "restore.* waits for the reader"'
expect_ok timeout 20 "$WINDLASS" reload "$MNT"
unmount

# Long paths in one file with many names. No other entry is left out for them.
mount_volfile "$VOL"
for name in first{1..5}; do
    information "$name" doc
done
information long "of1234/$(head -c 60000 /dev/zero | tr '\0' x | sed 's/x\{99\}/&\//g')"
python3 - "$BACK/.Trash-1234/info" <<'END2'
import os, sys
os.chdir(sys.argv[1])
for i in range(4000):
    os.link("long.trashinfo", f"{i}.trashinfo")
END2
for name in last{1..5}; do
    information "$name" doc
done
expect "the entries of another path" 10 "$(as 1234 "$WINDLASS" trash list "$MNT" doc | wc -l)"
[ "$(peak)" -lt 200000 ] || fail "4,000 paths of 60 KB took $(peak) KiB of memory"
unmount
rm "$BACK/.Trash-1234"/{info,files}/*

# A daemon was killed. Its successor finds information files of entries begun, without a text, whose
# owner makes them younger all the time. It waits once for all of them.
stack features/trash,settle=1h
mount_volfile "$VOL"
as 1234 touch "$MNT/of1234"/left{1..60}
as 1234 rm "$MNT/of1234"/left*
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
umount -l "$MNT"
rm -f over
as 1234 touch "$BACK/.Trash-1234/info"/left{1..60}.trashinfo
as 1234 python3 - "$BACK/.Trash-1234/info" "$TEST_DIR/over" <<'END2' &
import os, sys, time
while not os.path.exists(sys.argv[2]):
    for i in range(1, 61):
        os.utime(f"{sys.argv[1]}/left{i}.trashinfo")
    time.sleep(0.01)
END2
toucher=$!
mount_volfile "$VOL"
ls "$MNT" >/dev/null
wait_until 15 '[ "$(ls "$BACK/.Trash-1234/files" | wc -l)" = 60 ]'
: >over
wait $toucher
unmount

# A look at the limits of a large trash, in slow storage, makes pauses, in which users look at their
# trashes, and in which it can be stopped.
touch "$BACK/.Trash-1234/files"/{1..1500} "$BACK/.Trash-1234/info"/{1..1500}.trashinfo
stack debug/delay-gen,enable=lookup,delay-percentage=100,delay-duration=30000 \
    features/trash,settle=50ms,max-total=1GB
mount_volfile "$VOL"
as 1235 touch "$MNT/of1235/file"
as 1235 rm "$MNT/of1235/file"
wait_until '[ -e "$BACK/.Trash-1235/files/file" ]'
job=$("$WINDLASS" jobs list "$MNT" | sed -n 's/^job \([0-9]*\): settle.*/\1/p')
as 1235 touch "$MNT/of1235/more"
as 1235 rm "$MNT/of1235/more"
expect_ok as 1235 "$WINDLASS" trash restore "$MNT" of1235/more
expect_match "the look goes on" "^job $job: settle" "$("$WINDLASS" jobs list "$MNT")"
expect_ok "$WINDLASS" jobs stop "$MNT" "$job"
wait_until 20 '! "$WINDLASS" jobs list "$MNT" | grep -q "^job $job:"'
unmount

# min-free is stopped among old entries: what was removed last has no entry yet, and stays.
rm -r "$BACK"/.Trash-*
mount -t tmpfs -o size=64m tmpfs "$BACK" || skip "needs mount"
mkdir -p "$BACK/.Trash-0"/{info,files}
for i in {1..60}; do
    head -c 500K /dev/zero >"$BACK/.Trash-0/files/$i"
    touch "$BACK/.Trash-0/info/$i.trashinfo"
done
stack debug/delay-gen,enable=lookup,delay-percentage=100,delay-duration=20000 \
    features/trash,settle=1h,min-free=1KB
mount_volfile "$VOL"
touch "$MNT/young"
rm "$MNT/young"
sed -i 's/min-free .*/min-free 48MB/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
wait_until '[ "$(ls "$BACK/.Trash-0/files" | wc -l)" -lt 60 ]'
job=$("$WINDLASS" jobs list "$MNT" | sed -n 's/^job \([0-9]*\): settle.*/\1/p')
expect_ok "$WINDLASS" jobs stop "$MNT" "$job"
wait_until 20 '! "$WINDLASS" jobs list "$MNT" | grep -q "^job $job:"'
[ "$(ls "$BACK/.Trash-0/files" | wc -l)" -gt 40 ] || fail "the job went on"
unmount
expect "the youngest" young "$(ls "$BACK/.Trash-0/files" | grep young)"
umount "$BACK"
