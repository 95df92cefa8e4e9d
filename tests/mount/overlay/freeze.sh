#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass overlay freeze: what has changed becomes a layer that nothing changes any more, while
# programs have its files open; the view shows the same, also in the next mount and after a reload,
# and the kernel's overlayfs shows the same of the layers.
# builds: release debug
# longer
. "$(dirname "$0")/lib.sh"

need_root
need_command python3 setfattr
mkdir -p "$UPPER" "$BACK/dir/deep" "$BACK/gone" "$BACK/anew/old" "$BACK/moves/in"
overlay_volfile
for name in file dir/old dir/deep/file gone/x anew/old/y moves/in/z twice; do
    echo "old $name" >"$BACK/$name"
done
cp -a "$BACK" before

freeze () {
    overlay freeze "$MNT"
}
# Names, types, modes, owners, numbers, sizes and times of a directory, and the bytes.
manifest () {
    (cd "$1" && find . -printf '%p %y %m %U:%G %i %s %T@ %l\n' | sort &&
        find . -type f -exec md5sum {} + | sort -k 2)
}
layers () {
    (cd "$UPPER/layers" && for layer; do manifest "$layer"; done)
}

mount_volfile "$VOL" --entry-timeout=100 --attribute-timeout=100 --negative-timeout=100

# --- changes of all kinds, three times ------------------------------------------------------------

# change NUMBER
change () {
    echo "changed $1" >>"$MNT/file"
    echo "new $1" >"$MNT/dir/new$1"
    rm -f "$MNT/dir/deep/new$(($1 - 1))"
    echo "new $1" >"$MNT/dir/deep/new$1"
    rm -rf "$MNT/anew"
    mkdir "$MNT/anew"
    echo "anew $1" >"$MNT/anew/file$1"
    mv "$MNT"/moves* "$MNT/moves$1"
    echo "in $1" >"$MNT/moves$1/in/z$1"
    chmod "70$1" "$MNT/dir/deep"
    setfattr -n user.mine -v "$1" "$MNT/dir/old"
    touch "$MNT/only$1"
    rm -f "$MNT/only$(($1 - 1))"
    echo linked >"$MNT/dir/name$1"
    ln "$MNT/dir/name$1" "$MNT/name$1"
    chmod "75$1" "$MNT"
}
rm -r "$MNT/gone"
for number in 1 2 3; do
    change $number
    shown=$(manifest "$MNT")
    expect_match "freeze $number" "^'layers/$((number - 1))' is frozen; changes from now on, also \
those of open files, are in 'layers/$number'; requests waited for [0-9.]+ ms$" "$(freeze)"
    expect "the view after freeze $number" "$shown" "$(manifest "$MNT")"
    expect "changes after freeze $number" "" "$(changes)"
    frozen=$(layers $(seq 0 $((number - 1))))
    change 7
    expect_match "a change after freeze $number" "M.file$" "$(changes)"
    expect "the layers after a change" "$frozen" "$(layers $(seq 0 $((number - 1))))"
    overlay discard "$MNT" >/dev/null || fail "a discard after freeze $number"
    expect "the view after a discard" "$(sed 's/ [0-9.]* $//' <<<"$shown" | grep -v '^\. ')" \
        "$(manifest "$MNT" | sed 's/ [0-9.]* $//' | grep -v '^\. ')"
done
expect "the status" "changes are in 'layers/3' of volume 'changes'
layer 'layers/2' of it is frozen
layer 'layers/1' of it is frozen
layer 'layers/0' of it is frozen
volume 'lower' is only read
0 added, 0 changed, 0 removed, 0 renamed" "$(overlay status "$MNT")"
expect "the status as JSON" "['layers/2', 'layers/1', 'layers/0'] layers/3" \
    "$(overlay status --json "$MNT" | python3 -c 'import json, sys
status = json.load(sys.stdin)
print(status["frozen"], status["upper"])')"
expect_match "where a file comes from" "comes from the frozen layer 'layers/2' of volume 'changes'" \
    "$("$WINDLASS" explain "$MNT/file")"
expect_error "'/file' is also in the frozen layer 'layers/2'; nothing was applied" \
    sh -c "echo more >>'$MNT/file' && '$WINDLASS' overlay apply '$MNT' file"

# --- the next graph, the next mount, the kernel's overlayfs ---------------------------------------

exec 5<>"$MNT/file" 6>"$MNT/nameless" 7<"$MNT/twice"
rm "$MNT/nameless"
shown=$(manifest "$MNT")
sed -i 's/^    type cluster.*/&\n    option owner daemon/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect "the view after a reload" "$shown" "$(manifest "$MNT")"
expect_error "a removed file, which .* has open since before the last 'windlass reload'.*nothing was frozen" \
    freeze
exec 6>&-
freezes_again () { freeze >again 2>/dev/null; }
wait_until freezes_again
expect_match "a freeze after a reload" "^'layers/3' is frozen" "$(cat again)"
printf reloaded >&5
expect "a file that was open at the reload" reloaded "$(head -c 8 "$MNT/file")"
expect "another one" "old twice" "$(cat <&7)"
exec 5>&- 7<&-
expect_match "what the next layer has" reloaded "$(head -c 8 "$UPPER/layers/4/file")"
shown=$(manifest "$MNT")
unmount
mount_volfile "$VOL"
expect "the view in the next mount" "$shown" "$(manifest "$MNT")"
expect "changes in the next mount" "$(printf 'M\tfile')" "$(changes)"
expect "the lower" "$(manifest before | awk '{ $5 = ""; print }')" \
    "$(manifest "$BACK" | awk '{ $5 = ""; print }')"
if grep -qw overlay /proc/filesystems; then
    mkdir kernel
    if mount -t overlay test kernel -o "redirect_dir=follow,lowerdir=$UPPER/layers/4:$UPPER/layers/\
3:$UPPER/layers/2:$UPPER/layers/1:$UPPER/layers/0:$BACK"; then
        expect "what the kernel shows" "" "$(diff -r --no-dereference "$MNT" kernel 2>&1)"
        umount kernel
    fi
fi

# --- open files -----------------------------------------------------------------------------------

cat >open.py <<'EOF_PY'
import ctypes, mmap, os, subprocess, sys
windlass, mount, upper = sys.argv[1:]
os.chdir(mount)
def freeze():
    answer = subprocess.run([windlass, "overlay", "freeze", "--json", mount], check=True,
                            stdout=subprocess.PIPE).stdout
    import json
    return json.loads(answer)["frozen"]
def fill(name, text, flags=os.O_RDWR):
    fd = os.open(name, flags | os.O_CREAT, 0o644)
    os.write(fd, text)
    return fd
made = fill("made", b"made\n")
nameless = fill("nameless", b"nameless\n")
appended = fill("appended", b"appended\n", os.O_WRONLY | os.O_APPEND)
mapped = fill("mapped", b"x" * 8192)
lower = os.open("twice", os.O_RDWR)
os.write(lower, b"OLD")
unused = os.open("made", os.O_RDWR)
os.unlink("nameless")
area = mmap.mmap(mapped, 8192)
area[0:4] = b"MMAP"
here = os.open("dir", os.O_RDONLY)
numbers = [os.fstat(fd).st_ino for fd in (made, nameless, appended, mapped, lower)]
layer = upper + "/" + freeze()
def below(name):
    with open(layer + "/" + name, "rb") as file:
        return file.read()
assert below("made") == b"made\n" and below("mapped").startswith(b"MMAPx"), below("mapped")[:9]
assert os.pread(made, 9, 0) == b"made\n" and os.pread(nameless, 9, 0) == b"nameless\n"
assert not os.path.exists(upper + "/nameless")
area[4:8] = b"mmap"
area.flush()
os.pwrite(made, b"MADE", 0)
os.pwrite(nameless, b"NAME", 0)
os.write(appended, b"more\n")
os.pwrite(lower, b"NEW", 0)
assert os.pread(unused, 9, 0) == b"MADE\n"
os.ftruncate(unused, 2)
assert os.pread(made, 9, 0) == b"MA", os.pread(made, 9, 0)
assert os.pread(nameless, 9, 0) == b"NAMEless\n"
assert open("appended").read() == "appended\nmore\n"
assert open("mapped", "rb").read(9) == b"MMAPmmapx"
assert open("twice").read() == "NEW twice\n"
assert below("made") == b"made\n" and below("mapped").startswith(b"MMAPxxxx")
assert below("appended") == b"appended\n" and below("twice") == b"OLD twice\n"
assert [os.fstat(fd).st_ino for fd in (made, nameless, appended, mapped, lower)] == numbers
assert os.fstat(nameless).st_nlink == 0 and os.fstat(made).st_nlink == 1
os.close(os.open("by-descriptor", os.O_CREAT | os.O_WRONLY, dir_fd=here))
assert "by-descriptor" in os.listdir("dir") and "by-descriptor" in os.listdir(here)
os.fsync(made)
EOF_PY
python3 open.py "$WINDLASS" "$MNT" "$UPPER" || fail "open files"

# --- what is refused ------------------------------------------------------------------------------

overlay discard "$MNT" >/dev/null
exec 5<>"$MNT/file"
shown=$(manifest "$MNT")
for number in {1..20}; do
    freeze >/dev/null || fail "freeze $number of one mount"
done
expect "the view with many layers" "$shown" "$(manifest "$MNT")"
printf many >&5
expect "a file that was open before" many "$(head -c 4 "$MNT/file")"
exec 5>&-
overlay discard "$MNT" >/dev/null
if [ -n "${TEST_LONG-}" ]; then
    for _ in {1..100}; do
        freeze >/dev/null 2>last || break
    done
    expect_match "too many" "room for 100 freezes and commits.*mount again; nothing was frozen" \
        "$(cat last)"
fi
unmount
mount_volfile "$VOL"
expect_match "a freeze in the next mount" "is frozen" "$(freeze)"
unmount
expect "the lower, at the end" "$(manifest before | awk '{ $5 = ""; print }')" \
    "$(manifest "$BACK" | awk '{ $5 = ""; print }')"

rm -r "$UPPER"
mkdir "$UPPER"
overlay_volfile upper changed
mount_volfile "$VOL"
expect_error "'option upper' is 'changed': only where it ends with a number" freeze
unmount
mount_volfile "$VOL" -o ro
expect_error "the mount is read-only .-o ro.: its changes stay as they are" freeze
unmount

# --- far more layers than a directory was used in -------------------------------------------------

# A file that is open has the same number by its name, also if the directory was not used while 66
# layers were frozen.
rm -r "$UPPER"
mkdir "$UPPER"
mkdir -p "$BACK/unused"
for i in 1 2 3; do echo $i >"$BACK/unused/$i"; done
overlay_volfile
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
for i in 1 2; do echo more >>"$MNT/unused/$i"; done
freeze || fail "a freeze"
unmount
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
exec 3<>"$MNT/unused/2" 4<"$MNT/unused"
by_name=/proc/self/fd/4/2 # without a look-up of the directory
number=$(stat -L -c %i /proc/self/fd/3)
for _ in {1..66}; do freeze >/dev/null || fail "a freeze without use"; done
expect "the number of an open file by its name" "$number" "$(stat -c %i $by_name)"
echo open >&3
expect "what is written to it" "$(cat /proc/self/fd/3)" "$(cat $by_name)"
exec 3>&- 4<&-
unmount

# --- while programs work --------------------------------------------------------------------------

overlay_volfile
mount_volfile "$VOL"
make_works
workers=()
for number in 1 2 3; do
    python3 works.py "$MNT" $number &
    workers+=($!)
done
while [ ! -e stop ]; do
    overlay diff --json "$MNT" >walked || touch walk-failed
done &
workers+=($!)
for _ in {1..15}; do freeze || fail "a freeze beside programs"; done >freezes
touch stop
for worker in "${workers[@]}"; do wait "$worker" || fail "a program at work failed"; done
[ ! -e walk-failed ] || fail "a diff beside programs and freezes failed"
for number in 1 2 3; do
    expect "lines of program $number" "$(seq 0 $(($(cat counted-$number) - 1)) | md5sum)" \
        "$(md5sum <"$MNT/work-$number")"
done
echo "requests waited for $(sed 's/.*for \(.*\) ms/\1/' freezes | sort -n | sed -n 8p) ms for a" \
    "freeze beside three programs (median of 15)"
shown=$(manifest "$MNT")
unmount
mount_volfile "$VOL"
expect "the view in the next mount, at last" "$shown" "$(manifest "$MNT")"
wait_until work_is_clean
expect_no_match "the log" "CRITICAL| E \[" "$(grep -v 'can.t\|refused' "$LOG")"
