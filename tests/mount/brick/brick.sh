#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick of GlusterFS, mounted, is a file system: what programs do on it is in the brick's
# directory, and is the same through a second mount.
. "$(dirname "$0")/lib.sh"
need_command setfattr flock

brick one
brick_volfile one
mount_volfile "$VOL"
behind=$TEST_DIR/one.d
cd "$MNT" || exit 1

# Names, links, attributes.
umask 027
echo hello >file
mkdir directory
expect "the mode of a new file, by the umask" 640 "$(stat -c %a file)"
expect "the mode of a new directory" 750 "$(stat -c %a directory)"
ln file directory/hard
ln -s ../file directory/soft
mkfifo fifo
mknod null c 1 3
expect "a hard link" "2 $(stat -c %i file)" "$(stat -c '%h %i' directory/hard)"
expect "a symbolic link" "../file hello" "$(readlink directory/soft) $(cat directory/soft)"
expect "special files" "fifo 0 0 character special file 1 3" \
    "$(stat -c '%F %t %T' fifo null | paste -sd' ')"

mv directory/hard directory/moved
expect_error 'File exists' mkdir directory
expect_error 'not empty' rmdir directory
chown 12:34 file && chmod 4711 file && touch -d '2001-02-03 04:05:06.789' file
expect "attributes in the mount" "12 34 4711 2001-02-03 04:05:06.789000000" \
    "$(stat -c '%u %g %a %y' file | cut -d' ' -f1-5)"
expect "attributes in the brick" "$(stat -c '%u %g %a %Y %s' file)" \
    "$(stat -c '%u %g %a %Y %s' "$behind/file")"
setfattr -n user.colour -v green file
expect "an extended attribute" green "$(getfattr --only-values -n user.colour file)"
expect "the list of attributes" user.colour "$(getfattr -m - file | grep -v '^#\|^$')"
setfattr -x user.colour file
expect_error 'No such attribute' getfattr -n user.colour file

# Data: sizes around those of buffers, holes, appending, truncating, copying.
for size in 0 1 4095 32768 32769 131072 1048576 1048577 5000000; do
    head -c $size /dev/urandom >"$TEST_DIR/data"
    cp "$TEST_DIR/data" data
    expect_ok cmp "$TEST_DIR/data" data
    expect_ok cmp "$TEST_DIR/data" "$behind/data"
    expect_ok dd if=data of="$TEST_DIR/direct" bs=1M iflag=direct status=none
    expect_ok cmp "$TEST_DIR/data" "$TEST_DIR/direct"
done
echo more >>data
expect "an appended line" more "$(tail -c 5 data)"
truncate -s 3000 data
expect "the size after truncate" "3000 3000" "$(stat -c %s data "$behind/data" | paste -sd' ')"
fallocate -l 1M space && fallocate -p -o 4096 -l 8192 space
expect "allocated space with a hole" "$(stat -c "%s %b" "$behind/space")" "$(stat -c "%s %b" space)"
cp --reflink=never space copy && expect_ok cmp space copy
# Zeros that keep the size, within the file and past its end.
head -c 20000 /dev/zero | tr '\0' x >zeroed
fallocate -z -n -o 4096 -l 8192 zeroed
fallocate -z -n -o 16384 -l 65536 zeroed
{ head -c 4096 /dev/zero | tr '\0' x; head -c 8192 /dev/zero
  head -c 4096 /dev/zero | tr '\0' x; head -c 3616 /dev/zero; } >"$TEST_DIR/zeroed"
expect_ok cmp "$TEST_DIR/zeroed" zeroed
expect_ok cmp "$TEST_DIR/zeroed" "$behind/zeroed"
expect "blocks of it, past its end too" yes \
    "$([ "$(stat -c %b "$behind/zeroed")" -ge 160 ] && echo yes)"

# A directory whose list does not fit in one answer.
mkdir many && (cd many && seq -f %06g 3000 | xargs touch)
expect "a long list" "$(seq -f %06g 3000 | sha256sum)" "$(ls many | sha256sum)"
expect "a long list with attributes" 3000 "$(find many -type f -size 0 | wc -l)"
rm -r many

# Locks.
exec 5>lock
flock -x 5
expect_error '' flock -n -x lock true
exec 5>&-
wait_until "flock -n -x lock true" # the kernel releases after close has returned

cd "$TEST_DIR" || exit 1
find "$MNT" -printf '%P %y %m %n %u %g %s\n' | sort >first
unmount
sed "s|^\( *option remote-host\) .*|\1 127.0.0.1\n    option remote-port ${BRICK_PORT[one]}|
    s|^\( *option remote-subvolume\) .*|\1 one|" "$SOURCE_DIR/volfiles/client.vol" >"$VOL"
mount_volfile "$VOL"
find "$MNT" -printf '%P %y %m %n %u %g %s\n' | sort >second
expect_ok diff first second
rm -r "${MNT:?}"/*
expect "what is left in the brick" .glusterfs "$(ls -A "$behind")"
unmount
