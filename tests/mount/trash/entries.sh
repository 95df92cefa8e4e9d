#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What rm removes becomes entries of the trash: a tree one entry, a file of a name that is taken
# another name, links only when the last one goes. What lies in the trash is removed for good.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

stack features/trash,settle=1h
mount_volfile "$VOL"
umask 022

mkdir -p "$MNT/tree/empty" "$MNT/tree/below/deep"
echo one >"$MNT/tree/one"
echo deep >"$MNT/tree/below/deep/file"
ln -s nowhere "$MNT/tree/link"
chmod 500 "$MNT/tree/below"
touch -d 2001-01-01 "$MNT/tree/below/deep" "$MNT/tree/below" "$MNT/tree"
before=$(cd "$MNT/tree" && find . -printf '%p %y %m %U:%G %T@ %l\n' | sort)
rm "$MNT/tree/below/deep/file"
mkdir "$MNT/moving" # moves of other directories divide no entry
mv "$MNT/moving" "$MNT/moved"
rm -r "$MNT/tree"
rmdir "$MNT/moved"
# A removed file that gets a name again before its entry is made has lost nothing.
echo text >"$MNT/other"
exec 5<"$MNT/other"
rm "$MNT/other"
stat -L "/proc/$$/fd/5" >/dev/null # the kernel takes it for removed before
ln -L "/proc/$$/fd/5" "$MNT/again"
exec 5<&-
unmount
stack features/trash,settle=50ms
mount_volfile "$VOL"
expect "one entry" tree "$(entries)"
expect "one name" "1 text" "$(stat -c %h "$MNT/again") $(cat "$MNT/again")"
expect "the tree" "$before" "$(cd "$MNT/.Trash-0/files/tree" && find . -printf '%p %y %m %U:%G %T@ %l\n' | sort)"
expect "content" deep "$(cat "$MNT/.Trash-0/files/tree/below/deep/file")"
expect "rights" "700 0" "$(stat -c '%a %u' "$MNT/.Trash-0")"
mv "$MNT/.Trash-0/files/tree" "$MNT/tree"
rm "$MNT/.Trash-0/info/tree.trashinfo"
expect "restored" "$before" "$(cd "$MNT/tree" && find . -printf '%p %y %m %U:%G %T@ %l\n' | sort)"

# Names that are taken, in the trash and in a stage; names of 255 bytes; all kinds of bytes.
for text in 1 2 3; do
    echo $text >"$MNT/name"
    rm "$MNT/name"
done
settled
expect "three of a name" "name name name" "$(entries)"
expect "their texts" "1 2 3" "$(cat "$MNT/.Trash-0"/files/name* | sort | xargs)"
rm -r "$MNT/.Trash-0"/{files,info}/*
long=$(printf 'é%.0s' {1..127})a
for name in "$long" $'new\nline' $'bad\xff' '100%' ' blank'; do
    echo "$name" >"$MNT/$name"
    rm "$MNT/$name"
done
settled
expect "odd names" "$(printf '%s\n' %20blank 100%25 bad%FF new%0Aline "$(printf '%%C3%%A9%.0s' {1..127})a" | sort | xargs)" "$(entries)"
expect "their texts" "$(printf '%s\n' "$long" $'new\nline' $'bad\xff' '100%' ' blank' | sort | md5sum)" \
    "$(cat "$MNT/.Trash-0"/files/* | sort | md5sum)"

# In the trash: for good.
rm -r "$MNT/.Trash-0"/{files,info}/*
settled
expect "emptied" "" "$(ls "$MNT/.Trash-0/files" "$MNT/.Trash-0/info" | grep -v : | xargs)"

# Links: the last one is kept.
echo text >"$MNT/a"
ln "$MNT/a" "$MNT/b"
rm "$MNT/a"
settled
expect "a link is left" "" "$(entries)"
expect "links" 1 "$(stat -c %h "$MNT/b")"
rm "$MNT/b"
settled
expect "the last link" b "$(entries)"

# A file that is open stays usable; one that its process made for itself is not kept.
echo open >"$MNT/open"
exec 5<"$MNT/open"
rm "$MNT/open"
settled
expect "an open file" open "$(cat <&5)"
exec 5<&-
expect "entries" "b open" "$(entries)"
python3 - "$MNT" <<'EOF2'
import os, sys
path = sys.argv[1] + '/temporary'
fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
os.write(fd, b'text')
os.unlink(path)
os.close(fd)
os.symlink('nowhere', path)
os.unlink(path)
path = sys.argv[1] + '/journal'
os.close(os.open(path, os.O_RDWR | os.O_CREAT))
os.unlink(path)
os.close(os.open(path, os.O_RDWR | os.O_CREAT))
if os.fork() == 0:
    os.unlink(path) # by another process
EOF2
# rm has the number of the shell that made the file, and a later process that of an earlier one.
bash -c 'echo data >"$1"; rm "$1"' bash "$MNT/executed"
python3 - "$MNT/again" <<'EOF2'
import os, sys, time
if (maker := os.fork()) == 0:
    open(sys.argv[1], 'w').close()
    os._exit(0)
os.wait()
time.sleep(0.05) # the kernel counts starts in ticks, of 10 ms at most
for attempt in range(50):
    with open('/proc/sys/kernel/ns_last_pid', 'w') as last:
        last.write(str(maker - 1))
    if (remover := os.fork()) == 0:
        if os.getpid() == maker:
            os.unlink(sys.argv[1])
        os._exit(0)
    os.wait()
    if remover == maker:
        sys.exit()
os.unlink(sys.argv[1]) # the number was always taken
EOF2
mkfifo "$MNT/pipe"
rm "$MNT/pipe"
mkdir "$MNT/empty"
rmdir "$MNT/empty"
settled
expect "temporaries" "again b executed journal open" "$(entries)"

# The stage is hidden, errors are those of a removal.
expect_error 'No such file' stat "$MNT/.windlass-trash"
expect_error 'not permitted' mkdir "$MNT/.windlass-trash"
mkdir "$MNT/full"
touch "$MNT/full/file"
expect_error 'not empty' rmdir "$MNT/full"
expect_error 'No such file' rm "$MNT/nothing"
expect_match "explain" "goes to the trash of the user who removes it" "$("$WINDLASS" explain "$MNT/full/file")"
rm "$MNT/full/file"
unmount
expect "at the end" "full/file" "$(cat "$BACK/.Trash-0"/info/*.trashinfo | sed -n 's/^Path=//p' | grep full)"
[ ! -e "$BACK/.windlass-trash" ] || fail "the stage is left: $(find "$BACK/.windlass-trash")"
