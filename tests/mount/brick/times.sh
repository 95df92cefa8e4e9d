#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick reports times of its own for a file or directory that GlusterFS's client has changed. What
# Windlass changes then has its new time, for both clients.
. "$(dirname "$0")/lib.sh"
need_command glusterfs setfattr

brick one
brick_volfile one
printf 'volume utime\n    type features/utime\n    subvolumes one\nend-volume\n' >>"$VOL"
mkdir stock
glusterfs -f "$VOL" -l "$TEST_DIR/stock.log" --entry-timeout=0 --attribute-timeout=0 \
    "$TEST_DIR/stock" || fail "the stock client does not mount"
wait_until "mountpoint -q stock"
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0

for name in written cut longer linked moved; do
    echo text >stock/$name
done
mkdir stock/directory

# moves NAME WHAT COMMAND: an old time of NAME is new after COMMAND.
moves () {
    local name=$1 field=$2 before
    shift 2
    touch -d 2001-01-01 stock/"$name"
    before=$(stat -c "%.9$field" "$MNT/$name")
    # The clock of requests moves every few milliseconds.
    wait_until "[ \$(date +%s%N) -gt $(($(stat -c %.9Z stock/"$name" | tr -d .) + 10000000)) ]"
    (cd "$MNT" && eval "$*") || fail "$*"
    [ "$(stat -c "%.9$field" "$MNT/$name")" != "$before" ] || fail "$* moves no time of $name"
    expect "the time of $name after $*, for both" "$(stat -c "%.9Y %.9Z" stock/"$name")" \
        "$(stat -c "%.9Y %.9Z" "$MNT/$name")"
}

moves written Y 'echo more >>written'
moves cut Y ': >cut'
moves longer Y 'truncate -s 9999 longer'
moves written Z 'chmod 600 written'
setfattr -n user.a -v b stock/written
moves written Z 'setfattr -x user.a written'
moves linked Z 'ln linked again'
moves directory Y 'touch directory/new'
moves directory Y 'mv moved directory/here'
moves directory Y 'ln -s x directory/link'
moves directory Y 'mkdir directory/sub'
moves directory Y 'rmdir directory/sub'
moves directory Y 'rm directory/new'
umount stock
unmount
