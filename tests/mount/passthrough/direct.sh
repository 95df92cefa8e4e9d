#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files opened with O_DIRECT: the kernel reads and writes them itself where no program can tell the
# difference, or where passthrough-direct says so. They behave as in the bare directory, past the
# page cache, even while other programs have them open in another way, and whatever fcntl(2) does to
# O_DIRECT later.
# builds: release debug
# longer
. "$(dirname "$0")/../lib.sh"
need_root
need_command fincore mkfs.ext4
PASSTHROUGH=auto
chmod 755 "$TEST_DIR"

opens () {
    sed -n 's/^passthrough_opens = //p' "$MNT/.meta/master/private"
}

# disk KIND: a new file system at $BACK; 1 if this system has none of that kind.
disk () {
    case $1 in
        tmpfs | ramfs) mount -t "$1" none "$BACK" 2>/dev/null && return ;;
        *) command -v "mkfs.$1" >/dev/null || return
           rm -f image
           truncate -s 320M image # the least that xfs takes
           "mkfs.$1" -q image >/dev/null 2>&1 && mount -o loop image "$BACK" 2>/dev/null ;;
    esac
}

# memory FILE: how many pages of it are in memory.
memory () {
    fincore -b -n -o PAGES "$BACK/$1" | tr -d ' '
}

# forget FILE: what is in memory of it goes.
forget () {
    dd if="$BACK/$1" iflag=nocache count=0 status=none && sync "$BACK/$1" &&
        dd if="$BACK/$1" iflag=nocache count=0 status=none
}

# tail_written KIND: dd takes O_DIRECT away for what is left at the end.
tail_written () {
    head -c 10007 /dev/urandom >odd
    expect_ok dd if=odd of="$MNT/odd" bs=4096 oflag=direct
    expect "the last bytes of dd, $1" "" "$(cmp odd "$BACK/odd" 2>&1)"
    expect "the first ones, $1" "$(head -c 8192 odd | cksum)" \
        "$(dd if="$MNT/odd" bs=4096 count=2 iflag=direct status=none | cksum)"
}

# past_memory KIND: checks that I/O is really direct. No page is in memory after a direct write and
# a direct read, in the bare directory either.
past_memory () {
    head -c 65536 /dev/urandom >whole
    for dir in "$BACK" "$MNT"; do
        dd if=whole of="$dir/whole" bs=4096 oflag=direct status=none
        forget whole
        dd if=whole of="$dir/whole" bs=4096 oflag=direct conv=notrunc status=none
        expect "pages in memory after a direct write, $1" 0 "$(memory whole)"
        dd if="$dir/whole" of=read bs=4096 iflag=direct status=none
        expect "pages in memory after a direct read, $1" 0 "$(memory whole)"
        expect "what was read, $1" "" "$(cmp whole read 2>&1)"
        rm "$dir/whole"
    done
}

# same_answers KIND [moved]
same_answers () {
    local kind=$1
    shift
    expect_ok "$PROGRAMS/direct" answers "$MNT/answers-m" "$@"
    "$PROGRAMS/direct" answers "$BACK/answers-b" "$@" >bare || fail "the bare directory, $kind"
    "$PROGRAMS/direct" answers "$MNT/answers-m" "$@" >mounted
    expect "the answers, $kind $*" "" "$(diff bare mounted)"
}

# passed KIND WHICH: for which opens the kernel reads and writes the file itself: WHICH is all, none
# or readers.
passed () {
    local before writing reading
    before=$(opens)
    dd if=/dev/zero of="$MNT/opened" bs=4096 count=1 oflag=direct status=none
    writing=$(($(opens) - before))
    before=$(opens)
    dd if="$MNT/opened" of=/dev/null bs=4096 iflag=direct status=none
    reading=$(($(opens) - before))
    case $2 in
        all) expect "how many are passed, $1" '1 1' "$writing $reading" ;;
        readers) expect "how many are passed, $1" '0 1' "$writing $reading" ;;
        none) expect "how many are passed, $1" '0 0' "$writing $reading" ;;
    esac
}

# on_disk KIND CHOICE WHICH [switched | moved]...: which of the kernel's answers are those of the
# bare directory; WHICH as for passed.
on_disk () {
    local kind="$1, passthrough-direct=$2" which=$3
    disk "$1" || return 0
    stack
    mount_volfile "$VOL" --passthrough-direct="$2"
    [ -n "$(opens)" ] || skip "needs Linux 6.9 with FUSE passthrough"
    shift 3
    passed "$kind" "$which"
    [[ " $* " != *" switched "* ]] || same_answers "$kind"
    [[ " $* " != *" moved "* ]] || same_answers "$kind" moved
    expect_ok "$PROGRAMS/direct" shared "$MNT/shared"
    expect_ok "$PROGRAMS/direct" switched "$MNT/switched" "$(amount 40 1000)"
    tail_written "$kind"
    # Btrfs leaves some there, in the bare directory too.
    [[ $kind = tmpfs,* || $kind = btrfs,* ]] || past_memory "$kind"
    unmount
    umount "$BACK"
}

on_disk tmpfs auto all switched moved
on_disk tmpfs off none switched
on_disk ext4 auto none switched
on_disk ext4 on readers moved
on_disk xfs auto none switched
on_disk xfs on readers moved
on_disk btrfs auto all switched moved
on_disk btrfs on all switched moved

# Where translators see all of it, and where nothing is passed.
# seen OPTION... -- TYPE...
seen () {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    stack "$@"
    mount_volfile "$VOL" "${options[@]}"
    expect_ok "$PROGRAMS/direct" shared "$MNT/shared"
    head -c 10007 /dev/urandom >odd
    expect_ok dd if=odd of="$MNT/odd" bs=4096 oflag=direct
    expect "what dd wrote, ${options[*]} $*" "" "$(cmp odd "$MNT/odd" 2>&1)"
    unmount
    rm "$BACK"/*
}
if disk ext4; then
    seen -- encryption/rot-13
    seen --passthrough=off --
    seen --direct-io-mode=on --
    seen -- performance/write-behind performance/io-cache performance/read-ahead
    umount "$BACK"
fi

# Where the file system has no O_DIRECT, open(2) fails, with and without passthrough.
for choice in auto on; do
    disk ramfs || continue
    stack
    mount_volfile "$VOL" --passthrough-direct=$choice
    expect "open(2) in the bare directory" 77 \
        "$("$PROGRAMS/direct" answers "$BACK/file" 2>/dev/null; echo $?)"
    expect "open(2) in the mount" 77 \
        "$("$PROGRAMS/direct" answers "$MNT/file" 2>/dev/null; echo $?)"
    expect_ok cp /bin/true "$MNT/copy"
    expect_ok cmp /bin/true "$BACK/copy"
    unmount
    umount "$BACK"
done
exit 0
