#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# While the client's stack holds data and names, a full disk, I/O errors, and a removed directory
# are reported to the callers concerned. Nothing is invented, nothing hangs, and afterwards the
# mount works.
# builds: tsan debug
. "$(dirname "$0")/../lib.sh"
need_root
need_command python3
mount -t tmpfs -o size=4m none "$BACK" || skip "needs to mount a tmpfs"

# The stack with debug/fault right above storage.
{
    printf 'volume posix\n    type storage/posix\n    option directory "%s"\nend-volume\n' "$BACK"
    printf 'volume fault\n    type debug/fault\n    subvolumes posix\nend-volume\n'
    sed '1,/^end-volume/d; s/subvolumes posix$/subvolumes fault/' \
        "$SOURCE_DIR/volfiles/client-stack.vol"
} >"$VOL"
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0

rule () { "$WINDLASS" fault "$MNT" - <<<"$1" >/dev/null || fail "no rule '$1'"; }
clear_rules () { "$WINDLASS" fault "$MNT" --clear >/dev/null || fail "rules stay"; }
# What write, fsync, fsync and close of a new descriptor say: errno's names, - for success.
syncs () {
    timeout 60 python3 - "$1" "$2" <<'END'
import errno, os, sys
def said(act, *args):
    try:
        act(*args)
        return "-"
    except OSError as e:
        return errno.errorcode[e.errno]
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
writes = [said(os.pwrite, fd, b"x" * 4096, i * 4096) for i in range(int(sys.argv[2]))]
print(" ".join(w for w in dict.fromkeys(writes)), "|",
      said(os.fsync, fd), said(os.fsync, fd), said(os.close, fd))
END
}

# A full disk. A caller that synchronises gets the error once; the file holds what was confirmed;
# with room again all goes on.
seq 20000 >"$MNT/kept"
sum=$(md5sum <"$MNT/kept")
said=$(syncs "$MNT/big" 2000) || fail "a full disk hangs somebody"
expect_match "a full disk" 'ENOSPC' "$said"
expect "what is there" "$sum" "$(md5sum <"$MNT/kept")"
expect_error 'No space left' dd if=/dev/zero of="$MNT/more" bs=64k count=40 conv=fsync
wait_until "cmp -s '$MNT/big' '$BACK/big'"
rm "$MNT/big" "$MNT/more"
wait_until '[ "$(stat -f -c %f "$BACK")" -gt 400 ]' # the kernel forgets them later than rm returns
expect "with room again" "- | - - -" "$(syncs "$MNT/again" 100)"
cmp "$MNT/again" "$BACK/again" || fail "the file differs"

# I/O errors. A write that was answered fails: the next fsync returns the error, once. A read that
# storage refuses is refused, or returns what storage answered before.
rule 'writev path "/again" -> error EIO'
expect_match "a write that fails" '^(- [|] EIO - -|EIO [|] - - -)$' "$(syncs "$MNT/again" 1)"
clear_rules
cmp "$MNT/again" "$BACK/again" || fail "the file differs after a write failed"
expect "afterwards" "- | - - -" "$(syncs "$MNT/again" 1)"
echo never read >"$BACK/unread"
rule 'readv -> error EIO'
expect_error 'Input/output error' cat "$MNT/unread"
got=$(cat "$MNT/kept" 2>/dev/null | md5sum)
[ "$got" = "$sum" ] || expect_error 'Input/output error' cat "$MNT/kept"
clear_rules
expect "read again" "never read $sum" "$(cat "$MNT/unread") $(md5sum <"$MNT/kept")"
rule 'lookup,stat,fstat,open,opendir,readdir,readdirp -> error EIO'
wait_until "! stat '$MNT/unread' 2>/dev/null"
expect_error 'Input/output error' stat "$MNT/unread"
clear_rules
expect "found again" "never read" "$(cat "$MNT/unread")"

# The content of the directory is removed, then the directory itself, while the caches are full.
# Timeouts of a second pass.
mkdir "$MNT/dir" && echo text >"$MNT/dir/file" && ls -l "$MNT/dir" >/dev/null
exec 7<"$MNT/dir/file"
cat "$MNT/dir/file" >/dev/null
rm -rf "$BACK"/dir
wait_until "! timeout 20 cat '$MNT/dir/file' 2>/dev/null"
wait_until "! timeout 20 ls '$MNT/dir/file' 2>/dev/null"
expect_error 'No such file|Stale' touch "$MNT/dir/new"
expect "what is still open" text "$(cat <&7)"
exec 7<&-
expect "names" "again kept unread" "$(timeout 20 ls "$MNT" | xargs)"
umount -l "$BACK"
expect "the file system is the daemon's" "$sum" "$(timeout 20 md5sum <"$MNT/kept")"
expect_ok sh -c "echo more >>'$MNT/kept'"
unmount
expect_no_match "the log" ' C \[' "$(cat "$LOG")"
