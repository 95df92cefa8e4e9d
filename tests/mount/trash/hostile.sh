#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user prepares trashes for others, and for root: wrong owners and links in the place of a trash,
# information files that lead elsewhere, deep trees, names that change meanwhile.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command python3

stack features/trash,settle=50ms
chmod 755 "$TEST_DIR"
chmod 1777 "$BACK"
as () { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
theirs () { as "$1" "$WINDLASS" trash list "$MNT" | cut -c 35- | cut -f 1 | sort | xargs; }
mount_volfile "$VOL"
for uid in 1234 1235; do
    install -d -o $uid -g $uid "$BACK/of$uid"
done

# A folder of another user, a link, or a folder without rights in the place of the trash: the entries
# are hidden from programs, and windlass trash has them.
n=0
for blocker in "mkdir -m 777" "ln -s of1235" touch; do
    as 1235 $blocker "$MNT/.Trash-1234"
    as 1234 touch "$MNT/of1234/file$n"
    as 1234 rm "$MNT/of1234/file$n"
    settled
    expect "with $blocker" "of1234/file$n" "$(theirs 1234)"
    expect "of the other user" "" "$(theirs 1235 | grep of1234)"
    expect "restore" "restored 1 entry" "$(as 1234 "$WINDLASS" trash restore "$MNT" of1234)"
    as 1235 rm -rf "$MNT/.Trash-1234"
    n=$((n + 1))
done
expect_match "the log" "'/.Trash-1234' can't be the trash of user 1234" "$(cat "$LOG")"
expect "files" "file0 file1 file2" "$(ls "$MNT/of1234" | xargs)"
expect "the other user's" "" "$(find "$BACK/of1235" -mindepth 1)"
as 1234 rm "$MNT/of1234/file0"
settled
expect "the trash" file0 "$(ls "$MNT/.Trash-1234/files")"

# Information files that lead elsewhere. Where they are unusable the entry is shown without a path.
python3 - "$BACK/.Trash-1234" <<'END'
import os, sys
os.chdir(sys.argv[1])
paths = ["../outside", "/etc/outside", "of1234/../../outside", "of1234/./x", "a//b", "", "%00", "x%00y", "%2e%2e/outside",
         ".windlass-trash/x", ".Trash-1235/files/x", ".Trash/1235/files/x", "%2fetc%2foutside"]
for i, path in enumerate(paths):
    open(f"info/bad{i}.trashinfo", "w").write(f"[Trash Info]\nPath={path}\nDeletionDate=2026-01-01T00:00:00\n")
    open(f"files/bad{i}", "w").write("bad")
open("/".join([os.path.dirname(sys.argv[1]), "secret"]), "w").write("[Trash Info]\nPath=of1234/secret\n")
os.chmod(os.path.dirname(sys.argv[1]) + "/secret", 0o600)
os.symlink("../../secret", "info/link.trashinfo")
os.mkfifo("info/fifo.trashinfo")
os.mkdir("info/directory.trashinfo")
for name in "link", "fifo", "directory":
    open(f"files/{name}", "w").write("odd")
open("info/loop.trashinfo", "wb").write(b"\xff" * 200000 + b"\nPath=of1234/loop\n")
open("files/loop", "w").write("odd")
open("info/pointing.trashinfo", "w").write("[Trash Info]\nPath=of1234/pointing\nDeletionDate=99999-99-99Tx\n")
os.symlink("../../secret", "files/pointing")
for name in ".", "..": # which lead to files/ itself and above
    open(f"info/{name}.trashinfo", "w").write("Path=of1234/dots\nDeletionDate=2020-01-01T00:00:00\n")
for directory, names, files in os.walk("."):
    for name in names + files:
        os.chown(os.path.join(directory, name), 1234, 1234, follow_symlinks=False)
END
expect "shown" "17 ?" "$(as 1234 timeout 60 "$WINDLASS" trash list "$MNT" | cut -c 35- | cut -f 1 | sort | uniq -c | sed -n 's/^ *//; /?/p')"
out=$(as 1234 timeout 60 "$WINDLASS" trash restore "$MNT" / 2>&1)
expect_match "restore all" "17 of 19 not restored" "$out"
expect "paths below the trash" odd "$(timeout 60 cat "$MNT/.Trash-1234/files/link")"
expect "a link is restored as a link" ../../secret "$(readlink "$BACK/of1234/pointing")"
expect "elsewhere" "" "$(find "$TEST_DIR" /etc "$BACK" -maxdepth 1 -name outside)"
expect "the other user's" "" "$(find "$BACK"/.Trash* "$BACK/of1235" -name x)"
expect "empty" 0 "$(as 1234 "$WINDLASS" trash empty "$MNT" >/dev/null 2>&1; as 1234 "$WINDLASS" trash list "$MNT" | wc -l)"
expect "information files" "" "$(ls -A "$BACK/.Trash-1234/info")"

# Root asks for a user's trash, and acts with that user's rights alone.
as 1234 python3 - "$MNT" <<'END'
import os, sys
os.chdir(sys.argv[1] + "/.Trash-1234")
open("info/x.trashinfo", "w").write("[Trash Info]\nPath=closed/x\nDeletionDate=2026-01-01T00:00:00\n")
open("files/x", "w").write("evil")
END
mkdir -m 755 "$BACK/closed"
expect_match "root, for a user" "permission denied" \
    "$("$WINDLASS" trash restore "$MNT" --user 1234 closed 2>&1)"
expect "the closed directory" "" "$(ls "$BACK/closed")"
mkdir "$BACK/.Trash-1234/files/dir"
touch "$BACK/.Trash-1234/files/dir/of-root" "$BACK/.Trash-1234/info/dir.trashinfo"
expect_match "what the user may not remove" "stays in the trash: Permission denied" \
    "$("$WINDLASS" trash empty "$MNT" --all 2>&1)"
rm -r "$BACK/.Trash-1234"

# A deep tree, which is removed without a path for each name.
as 1234 python3 - "$MNT" <<'END'
import os, sys
top = sys.argv[1] + "/.Trash-1234"
for name in "", "/info", "/files":
    os.mkdir(top + name, 0o700)
open(top + "/info/deep.trashinfo", "w").write("[Trash Info]\nPath=of1234/deep\n")
END
python3 - "$BACK/.Trash-1234/files" <<'END'
import os, sys
os.setgid(1234)
os.setuid(1234)
os.chdir(sys.argv[1])
os.mkdir("deep")
os.chdir("deep")
for i in range(1000):
    os.mkdir("d")
    os.chdir("d")
END
expect "a deep tree" "removed 1 entry for good" \
    "$(as 1234 timeout 120 "$WINDLASS" trash empty "$MNT")"
expect "what is left of it" "" "$(ls "$BACK/.Trash-1234/files")"

# Directories above the former places are exchanged for links and back while a restore works.
as 1234 mkdir -p "$MNT/of1234/many"
(cd "$MNT/of1234/many" && as 1234 touch {1..300})
as 1234 rm -r "$MNT/of1234/many"
settled
as 1234 "$WINDLASS" trash restore "$MNT" of1234/many >/dev/null || fail "not restored"
(cd "$MNT/of1234/many" && as 1234 rm {1..300})
settled
as 1234 python3 - "$MNT/of1234" "$TEST_DIR/over" <<'END' &
import ctypes, os, sys
EXCHANGE = 2
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(sys.argv[1])
os.symlink("../of1235", "link")
while not os.path.exists(sys.argv[2]) or not os.path.islink("link"):
    if libc.renameat2(-100, b"many", -100, b"link", EXCHANGE):
        sys.exit(os.strerror(ctypes.get_errno()))
END
swapper=$!
for _ in {1..8}; do
    as 1234 "$WINDLASS" trash restore "$MNT" of1234/many >/dev/null 2>&1 && break
done
touch over
wait $swapper || fail "the names were not exchanged"
chmod 777 "$BACK/of1235"
expect "the other user's" "" "$(ls "$BACK/of1235")"
as 1234 "$WINDLASS" trash restore "$MNT" of1234/many >/dev/null 2>&1
expect "all are there" 300 "$(find "$BACK" -name '[0-9]*' -type f | grep -c .)"
unmount

# What somebody else has made behind the mount in the place of the stages is not used.
rm -rf "$BACK"/.Trash* "$BACK"/.windlass-trash
install -d -o 1235 -m 777 "$BACK/.windlass-trash" "$BACK/.windlass-trash/0123456789abcdef" \
    "$BACK/.windlass-trash/0123456789abcdef/1234" "$BACK/.windlass-trash/0123456789abcdef/1234/1"
touch "$BACK/.windlass-trash/0123456789abcdef/1234/1/planted"
mount_volfile "$VOL"
as 1234 touch "$MNT/of1234/last"
as 1234 rm "$MNT/of1234/last"
expect "nothing" "" "$(theirs 1234)"
expect_match "the log" "'/.windlass-trash' is not used, .* it must be a directory of user 0" "$(cat "$LOG")"
expect_match "explain" "removed for good instead, lastly for EACCES" "$("$WINDLASS" explain "$MNT")"
expect "the planted file" planted "$(ls "$BACK/.windlass-trash/0123456789abcdef/1234/1")"
unmount
chown 0:0 "$BACK/.windlass-trash" "$BACK/.windlass-trash/0123456789abcdef"
chmod 711 "$BACK/.windlass-trash" "$BACK/.windlass-trash/0123456789abcdef"
mount_volfile "$VOL"
ls "$MNT" >/dev/null
wait_until '[ "$("$WINDLASS" jobs list "$MNT")" = "" ]'
expect "a folder of another user" planted "$(ls "$BACK/.windlass-trash/0123456789abcdef/1234/1")"
expect "nothing" "" "$(theirs 1234)"
unmount

# A daemon of another user over the same directory has a folder of its own beside.
rm -rf "$BACK"/.Trash* "$BACK"/.windlass-trash
stack features/trash,settle=1h
mount_volfile "$VOL"
touch "$MNT/of1234/roots"
rm "$MNT/of1234/roots"
[ -d "$BACK/.windlass-trash" ] || fail "root's daemon has no stage"
install -d -o 1234 -g 1234 own own/mnt
{ cat /etc/passwd && echo "ann:x:1234:1234::/:/bin/sh"; } >passwd # fusermount3 asks for a name
mount --bind passwd /etc/passwd
as 1234 "$WINDLASS" -f "$VOL" -l "$TEST_DIR/own/log" -p "$TEST_DIR/own/pid" "$TEST_DIR/own/mnt" ||
    fail "no mount of user 1234"
as 1234 touch own/mnt/of1234/theirs
as 1234 rm own/mnt/of1234/theirs
expect "hidden from both" "" "$(find "$MNT" own/mnt -maxdepth 1 -name '.windlass-trash*' 2>/dev/null)"
expect "of the user's daemon" of1234/theirs \
    "$(as 1234 "$WINDLASS" trash list own/mnt | cut -c 35- | cut -f 1)"
as 1234 "$WINDLASS" umount own/mnt || fail "not unmounted"
expect "of root's" of1234/roots "$("$WINDLASS" trash list "$MNT" | cut -c 35- | cut -f 1)"
unmount

# A .Trash that a user has made could be renamed with all trashes in it: it is not used.
rm -rf "$BACK"/.Trash*
mkdir "$BACK/.Trash"
chown 1234 "$BACK/.Trash"
chmod 1777 "$BACK/.Trash"
mount_volfile "$VOL"
touch "$MNT/file"
rm "$MNT/file"
asked
expect "the shared trash" "" "$(ls "$BACK/.Trash")"
expect "the own one" file "$(ls "$BACK/.Trash-0/files")"
unmount
