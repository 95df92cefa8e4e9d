#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Times are exact to the nanosecond, in both directions, and follow operations as on the bare
# directory.
. "$(dirname "$0")/../lib.sh"

stack
mount_volfile "$VOL" --attribute-timeout=0
all=%x,%y,%z
touch -d '2001-02-03 04:05:06.123456789 UTC' "$MNT/file"
expect "a time set through the mount" 981173106.123456789 "$(stat -c %.9Y "$BACK/file")"
touch -d '1903-01-01 00:00:00.000000001 UTC' "$BACK/file"
expect "a time set behind it" "$(stat -c %.9Y "$BACK/file")" "$(stat -c %.9Y "$MNT/file")"
ln -s nowhere "$MNT/link"
touch -hd '1999-12-31 23:59:59.999999999 UTC' "$MNT/link"
expect "a link's" 946684799.999999999 "$(stat -c %.9Y "$BACK/link")"
expect "birth, access, change" "$(stat -c $all "$BACK/link")" "$(stat -c $all "$MNT/link")"

# after WHAT COMMAND: the change is seen on both sides, in the file and in its folder.
after () {
    local before
    before=$(stat -c %z "$BACK/file")
    eval "$2"
    expect "the file's times after $1" "$(stat -c $all "$BACK/file")" "$(stat -c $all "$MNT/file")"
    expect "the folder's times after $1" "$(stat -c $all "$BACK")" "$(stat -c $all "$MNT")"
    [ "$before" != "$(stat -c %z "$BACK/file")" ] || fail "$1 left the change time as it was"
}
after write 'echo more >>"$MNT/file"'
after chmod 'chmod 600 "$MNT/file"'
after link 'ln "$MNT/file" "$MNT/name"'
after unlink 'rm "$MNT/name"'
after truncate 'truncate -s 100 "$MNT/file"'
after rename 'mv "$MNT/file" "$MNT/x"; mv "$MNT/x" "$MNT/file"'
unmount

# With the writeback cache the kernel keeps them, and brings them down.
mount_volfile "$VOL" --kernel-writeback-cache=on
cp -p "$BACK/file" keep
cp -p keep "$MNT/kept"
unmount
expect "a copy's time with the writeback cache" "$(stat -c %.9Y keep)" \
    "$(stat -c %.9Y "$BACK/kept")"

# A store through a shared mapping, of which the kernel tells no file system: moved WHERE HOW says
# whether the time of the file there was changed by the store, by msync, and by close.
moved () {
    python3 - "$MNT/mapped" "$1/mapped" <<'EOF'
import mmap, os, sys, time
with open (sys.argv[1], "w+b") as file:
    file.truncate (4096)
    map = mmap.mmap (file.fileno (), 4096)
    times = [os.stat (sys.argv[2]).st_mtime_ns]
    def look ():
        times.append (os.stat (sys.argv[2]).st_mtime_ns)
        time.sleep (0.02)
    time.sleep (0.02)
    map[0] = 65
    look ()
    map.flush ()
    look ()
    map.close ()
time.sleep (0.2) # close tells storage late
look ()
print (*["moved" if after > before else "stayed" for before, after in zip (times, times[1:])])
EOF
}
mount_volfile "$VOL"
expect "times of a mapped file" "stayed moved stayed" "$(moved "$MNT")"
unmount
mount_volfile "$VOL" --kernel-writeback-cache=on
expect "times of a mapped file with the writeback cache" "moved stayed stayed" "$(moved "$MNT")"
# Data that the kernel still holds is data.
expect "data and hole" "4096 8192" "$(python3 -c 'import os, sys
fd = os.open (sys.argv[1], os.O_CREAT | os.O_RDWR)
os.pwrite (fd, b"x", 8191)
print (os.lseek (fd, 4096, os.SEEK_DATA), os.lseek (fd, 4096, os.SEEK_HOLE))' "$MNT/holes")"
unmount
need_root
PASSTHROUGH=auto mount_volfile "$VOL" --exclusive
if grep -q '^kernel passthrough: yes' <<<"$("$WINDLASS" explain "$MNT/file")"; then
    expect "times in the directory of a mapped file that the kernel writes itself" \
        "moved stayed stayed" "$(moved "$BACK")"
    expect "times in the mount of the same" moved "$(moved "$MNT" | cut -d ' ' -f 3)"
fi
unmount

# In a mount with ro or noatime reading moves no access time in the directory, for any owner of the
# file, as in a bind mount.
mkdir "$BACK/sub"
echo text >"$BACK/read"
chown -R 1234 "$BACK/sub" "$BACK/read"
stack
for graph in "" performance/open-behind performance/quick-read features/utime,noatime=off; do
    stack $graph
    for options in ro noatime rw; do
        mount_volfile "$VOL" -o "$options"
        touch -a -d 2001-01-01 "$BACK/sub" "$BACK/read"
        cat "$MNT/read" >/dev/null
        ls "$MNT/sub"
        expected=stay
        [ $options != rw ] || expected=move
        moved=stay
        [ "$(stat -c %X "$BACK/read")" = 978307200 ] || moved=move
        expect "access times with $options below '$graph'" $expected $moved
        [ $options = rw ] || expect "a directory's with $options below '$graph'" 978307200 \
            "$(stat -c %X "$BACK/sub")"
        unmount
    done
done

# The same if the kernel reads the file itself. It leaves a file of another file system, below the
# directory, to the daemon.
stack
mkdir "$BACK/below"
mount -t tmpfs none "$BACK/below"
echo text >"$BACK/below/read"
opens () {
    sed -n 's/^passthrough_opens = //p' "$MNT/.meta/master/private"
}
for options in ro noatime; do
    PASSTHROUGH=auto mount_volfile "$VOL" -o "$options"
    touch -a -d 2001-01-01 "$BACK/read" "$BACK/below/read"
    cat "$MNT/read" >/dev/null
    expect "how many are passed with $options" "$(opens | sed 's/.*/1/')" "$(opens)"
    cat "$MNT/below/read" >/dev/null
    expect "how many are passed with $options then" "$(opens | sed 's/.*/1/')" "$(opens)"
    stack performance/open-behind
    expect_ok "$WINDLASS" reload "$MNT"
    cat "$MNT/read" >/dev/null
    expect "how many are passed with $options in a new graph" "$(opens | sed 's/.*/2/')" "$(opens)"
    stack
    expect "access times with $options and passthrough" "978307200 978307200" \
        "$(stat -c %X "$BACK/read" "$BACK/below/read" | paste -sd' ')"
    unmount
done
umount "$BACK/below"
