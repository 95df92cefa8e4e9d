#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass overlay apply: changes of a view come into the directory below it, exactly those that are
# named; what others have changed there since is told before anything is done; programs keep their
# files open, and the inode numbers that they have seen.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3 setfattr getfattr
mkdir -p "$UPPER" "$BACK/dir/deep" "$BACK/gone/below" "$BACK/kept" "$BACK/timed" \
    "$BACK/nest/in"
overlay_volfile
echo one >"$BACK/file"
echo old >"$BACK/dir/old"
echo deep >"$BACK/dir/deep/file"
echo x >"$BACK/gone/x"
echo y >"$BACK/gone/below/y"
echo first >"$BACK/first"
ln "$BACK/first" "$BACK/second"
mkdir "$BACK/box"
echo out >"$BACK/out"
ln "$BACK/out" "$BACK/box/in"
echo moves >"$BACK/moves"
echo type >"$BACK/type"
echo old >"$BACK/nest/in/old"

mount_volfile "$VOL" --entry-timeout=100 --attribute-timeout=100 --negative-timeout=100
apply () {
    overlay apply "$@"
}
listing () { # names, types, modes, owners, sizes and content of a directory
    (cd "$1" && find . -printf '%p %y %m %U:%G %l\n' | sort && find . -type f -exec md5sum {} + |
        sort -k 2)
}

# --- paths that are named -------------------------------------------------------------------------

echo two >"$MNT/file"
echo new >"$MNT/dir/new"
echo other >"$MNT/kept/other"
expect_match "an apply of two files" '^2 changes applied; requests waited for [0-9.]+ ms$' \
    "$(apply "$MNT" file /dir/new)"
expect "the changed file" two "$(cat "$BACK/file")"
expect "the new file" new "$(cat "$BACK/dir/new")"
expect_error "No such file" cat "$BACK/kept/other"
expect "what is still a change" "$(printf 'A\tkept/other')" "$(changes)"
expect_error "apply needs PATH" apply "$MNT"
expect_error "the view has changed nothing at '/dir/old'; nothing was applied" \
    apply "$MNT" kept dir/old
expect_error "No such file" cat "$BACK/kept/other"
expect "nothing is left in the upper" "" "$(find "$UPPER/layers/0" -type f ! -name other)"

# --- attributes -----------------------------------------------------------------------------------

setfattr -n user.mine -v value "$MNT/dir/old"
chown 1000:1001 "$MNT/dir/old"
chmod 4711 "$MNT/dir/old"
chmod 2750 "$MNT/dir/deep"
setfattr -n user.mine -v dir "$MNT/dir/deep"
mknod "$MNT/dir/fifo" p
ln -s target "$MNT/dir/link"
truncate -s 10M "$MNT/dir/holes"
apply "$MNT" dir >/dev/null || fail "an apply of attributes"
expect "owner and mode" "1000:1001 4711" "$(stat -c '%u:%g %a' "$BACK/dir/old")"
expect "an attribute" value "$(getfattr --only-values -n user.mine "$BACK/dir/old")"
expect "a directory's mode" 2750 "$(stat -c %a "$BACK/dir/deep")"
expect "a directory's attribute" dir "$(getfattr --only-values -n user.mine "$BACK/dir/deep")"
expect "a link" target "$(readlink "$BACK/dir/link")"
expect "a fifo" fifo "$(stat -c %F "$BACK/dir/fifo")"
expect "holes" "10485760 0" "$(stat -c '%s %b' "$BACK/dir/holes")"
expect "no marks" "" "$(getfattr -R -m 'trusted.overlay' "$BACK" 2>/dev/null)"
expect "no other change" "$(printf 'A\tkept/other')" "$(changes)"
setfattr -x user.mine "$MNT/dir/deep"
apply "$MNT" dir >/dev/null || fail "an apply of a lost attribute"
expect_error "No such attribute" getfattr -n user.mine "$BACK/dir/deep"

# Somebody has changed names in a directory since: its time tells that.
chmod 700 "$MNT/timed"
echo theirs >"$BACK/timed/theirs"
time=$(stat -c %y "$BACK/timed")
apply "$MNT" timed >/dev/null || fail "an apply of a directory's mode"
expect "mode and time of a directory" "700 $time" "$(stat -c '%a %y' "$BACK/timed")"

# --- what a path needs ----------------------------------------------------------------------------

mkdir -p "$MNT/fresh/a/b"
echo 1 >"$MNT/fresh/a/b/one"
echo 2 >"$MNT/fresh/two"
expect_error "'/fresh/a/b/one' needs '/fresh/a/b', which is new: add that, or give --with" \
    apply "$MNT" fresh/a/b/one
expect_error "No such file" ls "$BACK/fresh"
apply --with "$MNT" fresh/a/b/one >/dev/null || fail "an apply with new directories"
expect "the file" 1 "$(cat "$BACK/fresh/a/b/one")"
expect_error "No such file" cat "$BACK/fresh/two"
expect "the other file" 2 "$(cat "$MNT/fresh/two")"
expect "the applied file in the view" 1 "$(cat "$MNT/fresh/a/b/one")"
expect "the other change" "$(printf 'A\tfresh/two\nA\tkept/other')" "$(changes)"
apply "$MNT" fresh >/dev/null || fail "an apply of a directory"
expect "both" "$(printf '1\n2')" "$(cat "$BACK"/fresh/a/b/one "$BACK"/fresh/two)"

mv "$MNT/moves" "$MNT/dir/moved"
expect_error "'/dir/moved' needs '/moves', its old name" apply "$MNT" dir/moved
expect_error "'/moves' needs '/dir/moved', its new name" apply "$MNT" moves
apply --with "$MNT" moves >/dev/null || fail "an apply of a rename"
expect "the new name" moves "$(cat "$BACK/dir/moved")"
expect_error "No such file" cat "$BACK/moves"

# --- removals, other types ------------------------------------------------------------------------

rm -r "$MNT/gone" "$MNT/type"
mkdir "$MNT/type"
echo in >"$MNT/type/in"
apply "$MNT" gone type >/dev/null || fail "an apply of a removal"
expect_error "No such file" ls "$BACK/gone"
expect "a directory in a file's place" in "$(cat "$BACK/type/in")"
rm -r "$MNT/type"
echo file >"$MNT/type"
apply "$MNT" type >/dev/null || fail "an apply of a file in a directory's place"
expect "a file in a directory's place" file "$(cat "$BACK/type")"
rm "$MNT/type"
mkdir "$MNT/type"
echo back >"$MNT/type/in"
apply "$MNT" type >/dev/null || fail "an apply of a name that was below the directory before"
expect "that name" back "$(cat "$BACK/type/in")"

# A directory that was made anew hides what it had.
rm -r "$MNT/fresh"
mkdir "$MNT/fresh"
echo 3 >"$MNT/fresh/three"
expect_error "'/fresh/three' needs '/fresh', which has replaced a directory" \
    apply "$MNT" fresh/three
expect "its changes" "$(printf 'A\tfresh/three\nD\tfresh/a\nD\tfresh/two')" "$(changes fresh)"
expect_match "an apply of a directory made anew" '^3 changes applied; ' "$(apply "$MNT" fresh)"
expect "its names" three "$(ls "$BACK/fresh")"
expect "its names in the view" three "$(ls "$MNT/fresh")"

rm -r "$MNT/nest"
mkdir -p "$MNT/nest/in"
echo new >"$MNT/nest/in/new"
expect "changes below a directory made anew" "$(printf 'A\tnest/in/new\nD\tnest/in/old')" \
    "$(changes nest)"
expect_error "'/nest/in/new' needs '/nest/in', which has replaced" apply "$MNT" nest/in/new
expect_error "'/nest/in' needs '/nest', which has replaced" apply "$MNT" nest/in
expect_match "an apply of all of it" '^2 changes applied; ' "$(apply --with "$MNT" nest/in/new)"
expect "its names below" new "$(ls "$BACK/nest/in")"
expect "its names below in the view" new "$(ls "$MNT/nest/in")"

# A directory that was renamed, and has its old name again, is the same.
mv "$MNT/nest" "$MNT/kept/nest"
mv "$MNT/kept/nest" "$MNT/nest"
echo again >"$MNT/nest/in/new"
expect "what has changed in it" "$(printf 'M\tnest/in/new')" "$(changes nest)"
expect_match "an apply of that" '^1 changes applied; ' "$(apply "$MNT" nest)"
expect "what has changed below" again "$(cat "$BACK/nest/in/new")"

# What it had is shown by the directory that had its name before: nothing may change it, also by
# force.
mv "$MNT/dir" "$MNT/renamed"
mkdir -p "$MNT/dir/deep"
echo anew >"$MNT/dir/deep/new"
before=$(listing "$BACK")
for path in dir dir/old dir/deep dir/deep/new; do
    for options in --force "--force --with"; do
        # shellcheck disable=SC2086 # options are words
        expect_error "'/dir.*' .* the view shows at '/renamed', a renamed directory|needs '/dir" \
            apply $options "$MNT" "$path"
        expect "the directory below after an apply $options $path" "$before" "$(listing "$BACK")"
    done
done
expect_error "^[^;]*'/dir' has what the view shows at '/renamed', [^;]*; nothing was applied$" \
    apply --with --force "$MNT" dir
expect "the renamed directory" deep "$(cat "$MNT/renamed/deep/file")"
overlay discard "$MNT" dir renamed >/dev/null || fail "a discard of a directory made anew"

# --- several names --------------------------------------------------------------------------------

ln "$BACK/first" outside
echo changed >"$MNT/first"
expect_error "'/second' needs '/first', another name of the file" apply "$MNT" second
expect_error "'/first' needs '/second', another name of the file" apply "$MNT" first
expect_error "'/first' is one of 3 names of a file below the view, and 1 of them would keep" \
    apply "$MNT" first second
rm outside
apply --with "$MNT" first >/dev/null || fail "an apply of a file with two names"
expect "both names" "changed changed" "$(cat "$BACK/first" "$BACK/second" | xargs)"
[ "$BACK/first" -ef "$BACK/second" ] || fail "the names of one file are two files"
expect "both names in the view" "$(stat -c '%i 2' "$MNT/first") changed" \
    "$(stat -c '%i %h' "$MNT/second") $(cat "$MNT/second")"
expect "what is left in the index" "" "$(ls -A "$UPPER/work/index")"
expect "no changes" "" "$(changes first second)"
echo again >"$MNT/second"
expect "both names, changed again" "again again" "$(cat "$MNT/first" "$MNT/second" | xargs)"
apply "$MNT" first second >/dev/null || fail "a second apply of a file with two names"
expect "both names, applied again" "again again 2" \
    "$(cat "$BACK/first" "$BACK/second" | xargs) $(stat -c %h "$BACK/first")"
mv "$MNT/box" "$MNT/crate"
echo changed >"$MNT/out"
expect_error "'/box/in' is, or is in, a directory that the view has renamed" \
    apply --with "$MNT" out
overlay discard "$MNT" out box crate >/dev/null || fail "no discard of a renamed directory"
expect "one file again" "$(stat -c '%i 2' "$MNT/out") out" \
    "$(stat -c '%i %h' "$MNT/box/in") $(cat "$MNT/box/in")"
echo linked >"$MNT/kept/l1"
ln "$MNT/kept/l1" "$MNT/kept/l2"
apply "$MNT" kept >/dev/null || fail "an apply of two names"
expect "one file" "2 2" "$(stat -c %h "$BACK/kept/l1" "$BACK/kept/l2" | xargs)"
[ "$BACK/kept/l1" -ef "$BACK/kept/l2" ] || fail "the names are of two files"
expect "no changes" "" "$(changes)"
expect "the same below" "$(listing "$BACK")" "$(listing "$MNT")"

# --- conflicts ------------------------------------------------------------------------------------

echo mine >"$MNT/file"
rm "$MNT/dir/new"
rm -r "$MNT/dir/deep"
echo theirs >"$BACK/file"
echo more >"$BACK/dir/deep/more"
echo also >"$BACK/kept/both"
before=$(listing "$BACK")
expect_error "'/file' was changed below the view since the view changed it" apply "$MNT" file
expect_error "'/dir/deep/more' is there below the view, and there is no record" apply "$MNT" /
expect "nothing was done" "$before" "$(listing "$BACK")"
apply "$MNT" dir/new >/dev/null || fail "an apply beside a conflict"
expect_error "No such file" cat "$BACK/dir/new"
rm "$BACK/dir/deep/more"
apply "$MNT" dir >/dev/null || fail "an apply without the conflict"
apply --force "$MNT" file >/dev/null || fail "an apply by force"
expect "the view's file" mine "$(cat "$BACK/file")"

# An upper without records, in which an origin leads to no file: force is needed.
echo again >"$MNT/file"
echo stray >"$MNT/kept/stray"
unmount
rm "$UPPER/work/records"
setfattr -n trusted.overlay.origin -v 0x00fb "$UPPER/layers/0/kept/stray"
mount_volfile "$VOL"
expect_error "'/file' is there below the view, and there is no record" apply "$MNT" file
apply --force --json "$MNT" file | python3 -c '
import json, sys
answer = json.load(sys.stdin)
assert answer["applied"] == 1 and answer["changed_again"] == [], answer' || fail "JSON"
expect "the file" again "$(cat "$BACK/file")"
apply "$MNT" kept/stray >/dev/null || fail "an apply of a file with an unknown origin"
expect "the file of an unknown origin" stray "$(cat "$BACK/kept/stray")"

# --- open files, numbers --------------------------------------------------------------------------

cat >open.py <<'EOF_PY'
import mmap, os, subprocess, sys
windlass, mount, back = sys.argv[1:]
def numbers(name):
    listed = {e.name: e.inode() for e in os.scandir(mount)}
    return os.stat(mount + "/" + name).st_ino, listed[name]
def apply():
    subprocess.run([windlass, "overlay", "apply", mount, "/"], check=True, stdout=sys.stderr)
fd = os.open(mount + "/file", os.O_RDWR)
new = os.open(mount + "/made", os.O_RDWR | os.O_CREAT)
os.write(fd, b"written\n")
os.write(new, b"made\n")
before = numbers("file"), numbers("made"), os.fstat(fd).st_ino, os.fstat(new).st_ino
apply()
assert open(back + "/file").read().startswith("written"), open(back + "/file").read()
assert open(back + "/made").read() == "made\n"
assert os.pread(fd, 7, 0) == b"written"
now = numbers("file"), numbers("made"), os.fstat(fd).st_ino, os.fstat(new).st_ino
assert now == before, (before, now)
os.pwrite(fd, b"AFTER", 0)
os.pwrite(new, b"AFTER", 0)
assert open(mount + "/file").read().startswith("AFTERen"), open(mount + "/file").read()
assert open(mount + "/made").read() == "AFTER"
assert open(back + "/made").read() == "made\n"
now = numbers("file"), numbers("made"), os.fstat(fd).st_ino, os.fstat(new).st_ino
assert now == before, (before, now)
apply()
assert open(back + "/made").read() == "AFTER"
# What a mapping has changed is applied, or stays a change.
area = mmap.mmap(fd, 4)
area[0:4] = b"MMAP"
apply()
apply()
assert open(back + "/file").read().startswith("MMAP"), open(back + "/file").read()
area[0:4] = b"mmap"
area.flush()
assert open(mount + "/file").read().startswith("mmap")
assert open(back + "/file").read().startswith("MMAP")
EOF_PY
python3 open.py "$WINDLASS" "$MNT" "$BACK" 2>apply.out || fail "open files: $(cat apply.out)"
apply "$MNT" / >/dev/null || fail "an apply of the mapping's change"
expect "no changes at the end" "" "$(changes)"
expect "the same at the end" "$(listing "$BACK")" "$(listing "$MNT")"
expect "nothing is left in the upper" "" "$(find "$UPPER/layers/0" -mindepth 1 ! -type d)"
wait_until work_is_clean

# --- while programs work --------------------------------------------------------------------------

cat >works.py <<'EOF_PY'
import os, sys, time
path = "%s/work-%s" % (sys.argv[1], sys.argv[2])
end = time.time() + 60
n = 0
with open(path, "w") as file:
    while not os.path.exists("stop") and time.time() < end:
        file.write("%d\n" % n)
        file.flush()
        n += 1
        with open(path + ".new", "w") as other:
            other.write(str(n))
        os.rename(path + ".new", path + ".moved")
        os.listdir(sys.argv[1])
with open("counted-" + sys.argv[2], "w") as file:
    file.write(str(n))
EOF_PY
workers=()
for number in 1 2 3; do
    python3 works.py "$MNT" $number &
    workers+=($!)
done
for _ in {1..5}; do apply "$MNT" / >/dev/null 2>busy.out || grep -q meanwhile busy.out ||
    fail "an apply beside programs: $(cat busy.out)"; done
touch stop
for worker in "${workers[@]}"; do wait "$worker" || fail "a program at work failed"; done
apply "$MNT" / >/dev/null || fail "a last apply"
for number in 1 2 3; do
    expect "lines of program $number" "$(cat "counted-$number")" "$(wc -l <"$BACK/work-$number")"
    expect "the last file of program $number" "$(cat "counted-$number")" \
        "$(cat "$BACK/work-$number.moved")"
done
expect "no changes after all" "" "$(changes)"
expect "no temporary names" "" "$(find "$BACK" -name '.windlass-*')"

# A file that was applied keeps its number, which no new file gets, although the file system of the
# changes may use it again.
mkdir "$MNT/numbers"
python3 - "$WINDLASS" "$MNT" <<'EOF_PY' || fail "numbers of files"
import os, subprocess, sys
windlass, mnt = sys.argv[1:]
files = [f"{mnt}/numbers/{i}" for i in range(20)]
for file in files:
    open(file, "w").close()
kept = {os.stat(file).st_ino for file in files}
subprocess.run([windlass, "overlay", "apply", mnt, "/"], check=True, stdout=subprocess.DEVNULL)
new = [open(f"{mnt}/numbers/new{i}", "w") for i in range(100)]
numbers = {os.fstat(file.fileno()).st_ino for file in new}
assert len(numbers) == len(new) and not numbers & kept, numbers & kept
assert kept == {os.stat(file).st_ino for file in files}
assert numbers == {entry.inode() for entry in os.scandir(f"{mnt}/numbers") if entry.name[0] == "n"}
EOF_PY
unmount
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
