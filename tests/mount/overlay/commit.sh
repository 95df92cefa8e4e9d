#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass overlay commit: all changes of a view, those of its frozen layers too, come into the
# directory below it, while programs use the view; what others have changed there since is told
# before anything is done.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3 setfattr getfattr
mkdir -p "$UPPER" "$BACK/dir/deep" "$BACK/gone/below" "$BACK/anew/old" "$BACK/type"
overlay_volfile
for name in file dir/old dir/deep/file gone/x gone/below/y anew/old/y type/in same; do
    echo "old $name" >"$BACK/$name"
done
commit () {
    overlay commit "$MNT" "$@"
}
listing () { # names, types, modes, owners, sizes and content of a directory
    (cd "$1" && find . -mindepth 1 -printf '%p %y %m %U:%G %l\n' | sort &&
        find . -type f -exec md5sum {} + | sort -k 2)
}
numbers () {
    (cd "$MNT" && find . -mindepth 1 -printf '%p %i\n' | sort)
}
# Names that the layers have.
layer_names () {
    (cd "$UPPER/layers" && find . -mindepth 2 ! -name '*.lock' | sort)
}

mount_volfile "$VOL" --entry-timeout=100 --attribute-timeout=100 --negative-timeout=100
expect "nothing to commit" "the view has changed nothing" "$(commit)"
expect "no layer for that" 0 "$(ls "$UPPER/layers" | grep -v lock)"

# --- changes of all kinds, in one layer and in three ----------------------------------------------

# change NUMBER
change () {
    echo "changed $1" >>"$MNT/file"
    echo "new $1" >"$MNT/dir/new$1"
    rm -f "$MNT/dir/deep/new$(($1 - 1))"
    echo "new $1" >"$MNT/dir/deep/new$1"
    rm -rf "$MNT/anew"
    mkdir -p "$MNT/anew/old"
    echo "anew $1" >"$MNT/anew/old/z$1"
    echo "anew $1" >"$MNT/anew/file$1"
    mkdir -p "$MNT/fresh/in$1"
    echo "fresh $1" >"$MNT/fresh/in$1/file"
    chmod "70$1" "$MNT/dir/deep"
    setfattr -n user.mine -v "$1" "$MNT/dir/old"
    touch "$MNT/only$1"
    rm -f "$MNT/only$(($1 - 1))"
    rm -rf "$MNT/type"
    if [ $(($1 % 2)) = 1 ]; then echo "file $1" >"$MNT/type"; else mkdir "$MNT/type"; fi
    echo linked >"$MNT/dir/name$1"
    ln "$MNT/dir/name$1" "$MNT/name$1"
    ln -sfn "target$1" "$MNT/link"
    chown 1000:1001 "$MNT/dir/new$1"
}
change 1
rm -r "$MNT/gone"
shown=$(listing "$MNT")
known=$(numbers)
expect_match "a commit" '^[0-9]+ changes committed, of 1 layers; requests waited for [0-9.]+ ms$' \
    "$(commit)"
expect "the directory" "$shown" "$(listing "$BACK")"
expect "the view" "$shown" "$(listing "$MNT")"
expect "inode numbers" "$known" "$(numbers)"
expect "an attribute" 1 "$(getfattr --only-values -n user.mine "$BACK/dir/old")"
expect "no marks" "" "$(getfattr -R -m 'trusted.overlay' "$BACK" 2>/dev/null)"
expect "no changes" "" "$(changes)"
expect "names of layers" "" "$(layer_names)"

for number in 2 3 4; do
    change $number
    [ $number = 4 ] || overlay freeze "$MNT" >/dev/null || fail "a freeze"
done
shown=$(listing "$MNT")
known=$(numbers)
commit --json >said || fail "a commit of three layers"
python3 -c '
import json
answer = json.load(open("said"))
assert answer["layers"] == 3 and answer["committed"] > 10 and answer["held_us"] > 0, answer
' || fail "JSON: $(cat said)"
expect "the directory after three layers" "$shown" "$(listing "$BACK")"
expect "the view after three layers" "$shown" "$(listing "$MNT")"
expect "inode numbers after three layers" "$known" "$(numbers)"
expect "no changes after three layers" "" "$(changes)"
expect "names of layers after three layers" "" "$(layer_names)"
expect "a second commit" "the view has changed nothing" "$(commit)"
expect "the same after it" "$shown" "$(listing "$BACK")"

# A layer that was committed hinders no further change, apply or discard.
echo more >>"$MNT/file"
echo gone >"$MNT/dir/gone"
overlay apply "$MNT" file >/dev/null || fail "an apply after a commit"
expect "what was applied" more "$(tail -n 1 "$BACK/file")"
overlay discard "$MNT" >/dev/null || fail "a discard after a commit"
expect_error "No such file" cat "$MNT/dir/gone"
unmount
ls "$UPPER/layers" | grep -qx 3 || fail "layers went while they were in use: $(ls "$UPPER/layers")"
touch "$UPPER/users"
mount_volfile "$VOL"
expect "the layers beside a file in the place of their readers" 5 \
    "$(ls "$UPPER/layers" | grep -vc lock)"
unmount
rm "$UPPER/users"
mkdir -p "$UPPER/users" reader
ln -s "$TEST_DIR/reader" "$UPPER/users/reader"
mount_volfile "$VOL"
expect "the layers that a view reads" 5 "$(ls "$UPPER/layers" | grep -vc lock)"
unmount
rm -r "$UPPER/users"
mount_volfile "$VOL"
expect "the next mount" "$(listing "$BACK")" "$(listing "$MNT")"
expect "changes in the next mount" "" "$(changes)"
expect "layers in the next mount: the first and the upper" 2 \
    "$(ls "$UPPER/layers" | grep -vc lock)"

# --- conflicts ------------------------------------------------------------------------------------

echo mine >"$MNT/file"
overlay freeze "$MNT" >/dev/null
rm -r "$MNT/dir/deep"
echo also >"$MNT/same"
echo more >"$BACK/dir/deep/more"
before=$(listing "$BACK")
layers=$(layer_names)
expect_error "'/dir/deep/more' is there below the view, and there is no record" commit
expect "nothing was done" "$before" "$(listing "$BACK")"
echo theirs >"$BACK/file"
before=$(listing "$BACK")
expect_error "'/file' was changed below the view since the view changed it: --force.*committed" \
    commit
expect "nothing was done in the oldest layer" "$before" "$(listing "$BACK")"
expect "no layer more" "$layers" "$(layer_names)"
commit --force >/dev/null || fail "a commit by force"
expect "the view's file" mine "$(cat "$BACK/file")"
expect_error "No such file" ls "$BACK/dir/deep"
expect "the same by force" "$(listing "$BACK")" "$(listing "$MNT")"
expect_error "too many arguments for commit" commit file

# --- open files -----------------------------------------------------------------------------------

cat >open.py <<'EOF_PY'
import mmap, os, subprocess, sys
windlass, mount, back = sys.argv[1:]
os.chdir(mount)
def listed(name):
    return {e.name: e.inode() for e in os.scandir(os.path.dirname(name) or ".")}[
        os.path.basename(name)]
def commit():
    subprocess.run([windlass, "overlay", "commit", mount], check=True, stdout=sys.stderr)
def fill(name, text, flags=os.O_RDWR):
    fd = os.open(name, flags | os.O_CREAT, 0o644)
    os.write(fd, text)
    return fd
def below(name):
    with open(back + "/" + name, "rb") as file:
        return file.read()
os.mkdir("place")
names = "file", "made", "place/in", "mapped", "appended"
fds = [fill(name, b"one\n") for name in names[:4]]
fds.append(fill("appended", b"one\n", os.O_WRONLY | os.O_APPEND))
nameless = fill("nameless", b"nameless\n")
os.unlink("nameless")
lost = fill("lost", b"lost\n")
os.ftruncate(fds[3], 8192)
area = mmap.mmap(fds[3], 8192)
area[0:4] = b"MMAP"
here = os.open("place", os.O_RDONLY)
unused = os.open("made", os.O_RDWR)
def numbers():
    return ([os.fstat(fd).st_ino for fd in fds + [nameless, here]],
            [os.stat(name).st_ino for name in names + ("place",)],
            [listed(name) for name in names + ("place",)])
before = numbers()
commit()
assert numbers() == before, (numbers(), before)
assert [below(name)[:4] for name in names] == [b"one\n"] * 3 + [b"MMAP", b"one\n"]
assert not os.path.exists(back + "/nameless")
os.unlink("lost")
area[4:8] = b"mmap"
area.flush()
for fd in fds[:3]:
    os.pwrite(fd, b"TWO", 0)
os.write(fds[4], b"two\n")
os.pwrite(nameless, b"NAME", 0)
os.pwrite(lost, b"LOST", 0)
assert os.pread(nameless, 9, 0) == b"NAMEless\n" and os.pread(lost, 5, 0) == b"LOST\n"
assert os.pread(unused, 4, 0) == b"TWO\n"
assert open("made").read() == "TWO\n" and open("place/in").read() == "TWO\n"
assert open("appended").read() == "one\ntwo\n"
assert open("mapped", "rb").read(9) == b"MMAPmmap\0"
assert [below(name)[:4] for name in names] == [b"one\n"] * 3 + [b"MMAP", b"one\n"]
assert numbers() == before, (numbers(), before)
os.close(os.open("by-descriptor", os.O_CREAT | os.O_WRONLY, dir_fd=here))
os.rename("made", "place/made")
assert sorted(os.listdir(here)) == ["by-descriptor", "in", "made"]
names = "file", "place/made", "place/in", "mapped", "appended"
commit()
assert below("place/made") == b"TWO\n" and below("appended") == b"one\ntwo\n"
assert below("mapped")[:8] == b"MMAPmmap"
assert not os.path.exists(back + "/made") and not os.path.exists(back + "/lost")
assert [os.fstat(fd).st_ino for fd in fds] == [os.stat(name).st_ino for name in names]
assert [os.fstat(fd).st_ino for fd in fds + [nameless, here]] == before[0]
EOF_PY
python3 open.py "$WINDLASS" "$MNT" "$BACK" 2>commit.out || fail "open files: $(cat commit.out)"
expect "the same after open files" "$(listing "$BACK")" "$(listing "$MNT")"
wait_until work_is_clean

# --- what is refused ------------------------------------------------------------------------------

echo more >>"$MNT/file"
mkdir -p "$UPPER/users"
mkdir other
ln -s "$TEST_DIR/other" "$UPPER/users/other"
expect_error "the view 'other' was begun with the frozen layers of this one .--from., and needs" \
    commit
rm "$UPPER/users/other"
ln -s "$TEST_DIR/unmounted/views/away" "$UPPER/users/away"
expect_error "the view 'away' was begun with the frozen layers" commit
rm "$UPPER/users/away"
mkdir views
ln -s "$TEST_DIR/views/removed" "$UPPER/users/removed"
mkdir views/removed
expect_error "the view 'removed' was begun with the frozen layers" commit
rmdir views/removed
commit >/dev/null || fail "a commit after a view was removed by hand"
rm -r "$UPPER/users"
echo more >>"$MNT/file"
exec 5<>"$MNT/removed" # stays in the graph that knows it
rm "$MNT/removed"
sed -i 's/^    type cluster.*/&\n    option owner daemon/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect_error "since before the last 'windlass reload', still uses|has not ended yet" commit
exec 5>&-
commits_again () { commit >again 2>/dev/null; }
wait_until commits_again
expect "the same after a reload" "$(listing "$BACK")" "$(listing "$MNT")"

# Files that were committed while they were open are the same files in the next graph.
cat >reloaded.py <<'EOF_PY'
import os, subprocess, sys, time
windlass, mount, volfile = sys.argv[1:]
os.chdir(mount)
def run(*words):
    return subprocess.run([windlass, *words], stdout=sys.stderr).returncode
names = "file", "dir/reloaded"
fds = [os.open(name, os.O_RDWR | os.O_CREAT) for name in names]
for fd in fds:
    os.pwrite(fd, b"one\n", 0)
known = [os.fstat(fd).st_ino for fd in fds]
assert run("overlay", "commit", mount) == 0
with open(volfile) as file:
    text = file.read()
with open(volfile, "w") as file:
    file.write(text.replace("owner daemon", "owner keep"))
assert run("reload", mount) == 0
readers = [open(name, "rb", buffering=0) for name in names]
assert [reader.read(4) for reader in readers] == [b"one\n"] * 2
for fd in fds:
    os.pwrite(fd, b"TWO", 0)
assert [os.pread(reader.fileno(), 4, 0) for reader in readers] == [b"TWO\n"] * 2
assert [open(name, "rb").read(4) for name in names] == [b"TWO\n"] * 2
assert [os.fstat(fd).st_ino for fd in fds] == known
assert [os.stat(name).st_ino for name in names] == known
for _ in range(100): # the old graph ends, since no file stays in it
    if run("overlay", "commit", mount) == 0:
        break
    time.sleep(0.1)
else:
    sys.exit("a file stays in the old graph")
assert [os.pread(reader.fileno(), 4, 0) for reader in readers] == [b"TWO\n"] * 2
EOF_PY
timeout 60 python3 reloaded.py "$WINDLASS" "$MNT" "$VOL" 2>reloaded.out ||
    fail "open files after a commit and a reload: $(cat reloaded.out)"
expect "the same after that reload" "$(listing "$BACK")" "$(listing "$MNT")"
unmount
mount_volfile "$VOL"
expect "the next mount after a reload" "$(listing "$BACK")" "$(listing "$MNT")"
expect "layers after a reload" 2 "$(ls "$UPPER/layers" | grep -vc lock)"
unmount
mount_volfile "$VOL" -o ro
expect_error "the mount is read-only .-o ro.: its changes stay as they are" commit
unmount
rm -r "$UPPER"
mkdir -p "$UPPER/layers/0"
echo foreign >"$UPPER/layers/0/foreign"
mount_volfile "$VOL"
expect_error "'layers/0' of volume 'changes' was there before the overlay first used it" commit
unmount
rm -r "$UPPER"
mkdir "$UPPER"

# --- while programs work --------------------------------------------------------------------------

mount_volfile "$VOL"
make_works
workers=()
for number in 1 2 3; do
    python3 works.py "$MNT" $number &
    workers+=($!)
done
for _ in {1..6}; do commit || fail "a commit beside programs"; done >commits
touch stop
for worker in "${workers[@]}"; do wait "$worker" || fail "a program at work failed"; done
for number in 1 2 3; do
    expect "lines of program $number" "$(seq 0 $(($(cat counted-$number) - 1)) | md5sum)" \
        "$(md5sum <"$MNT/work-$number")"
done
commit >/dev/null || fail "a last commit"
expect "the same at last" "$(listing "$BACK")" "$(listing "$MNT")"
expect "no changes at last" "" "$(changes)"
expect "no temporary names" "" "$(find "$BACK" -name '.windlass-*')"
unmount
mount_volfile "$VOL"
expect "the next mount at last" "$(listing "$BACK")" "$(listing "$MNT")"
unmount
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
