#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass overlay commit of a view that has renamed directories of the directory below it: those
# are moved there, with all that is in them, and not copied.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3 setfattr getfattr
commit () {
    overlay commit "$MNT" "$@"
}
listing () { # names, types, modes, owners, inode numbers and content of a directory
    (cd "$1" && find . -mindepth 1 -printf '%p %y %m %U:%G %l\n' | sort &&
        find . -type f -exec md5sum {} + | sort -k 2)
}
numbers () {
    (cd "$1" && find . -mindepth 1 -printf '%p %i\n' | sort)
}
layer_names () {
    (cd "$UPPER/layers" && find . -mindepth 2 ! -name '*.lock' | sort)
}

# anew: the directory below as it is at first, and a mount of a new view.
anew () {
    [ -z "${DAEMON-}" ] || unmount
    rm -rf "$UPPER" "$BACK"
    mkdir -p "$UPPER" "$BACK"/{x/y/z,one,two,old/sub,gone,keep/in}
    for name in x/f x/y/g x/y/z/h one/1 two/2 old/a old/sub/b gone/c keep/k keep/in/l file; do
        echo "$name" >"$BACK/$name"
    done
    setfattr -n user.mine -v x "$BACK/x"
    touch -d '2001-02-03 04:05:06' "$BACK/x/f" "$BACK/x/y" "$BACK/x"
    overlay_volfile
    mount_volfile "$VOL" --entry-timeout=100 --attribute-timeout=100 --negative-timeout=100
}

# commits ABOUT [MOVED...]: a commit makes the directory below what the view shows; each MOVED, as
# FROM=TO, has kept its inode number below, so it was moved and not copied.
commits () {
    local about=$1 shown known move below
    shift
    shown=$(listing "$MNT")
    known=$(numbers "$MNT")
    below=$(numbers "$BACK")
    commit >said 2>&1 || fail "$about: $(cat said)"
    expect_match "$about: the answer" '^[0-9]+ changes committed, of [0-9] layers; ' "$(cat said)"
    expect "$about: the directory" "$shown" "$(listing "$BACK")"
    expect "$about: the view" "$shown" "$(listing "$MNT")"
    expect "$about: inode numbers" "$known" "$(numbers "$MNT")"
    expect "$about: no changes" "" "$(changes)"
    expect "$about: names of layers" "" "$(layer_names)"
    expect "$about: no marks" "" "$(getfattr -hR -m 'trusted.overlay' "$BACK" 2>/dev/null)"
    expect "$about: a second commit" "the view has changed nothing" "$(commit)"
    for move; do
        expect "$about: $move" "$(echo "$below" | awk -v p="./${move%=*}" '$1 == p { print $2 }')" \
            "$(stat -c %i "$BACK/${move#*=}")"
    done
    unmount
    mount_volfile "$VOL"
    expect "$about: the next mount" "$shown" "$(listing "$MNT")"
}

# --- kinds of renames -----------------------------------------------------------------------------

anew
mv "$MNT/x" "$MNT/p"
commits "a rename" x=p x/y/z/h=p/y/z/h
expect "an attribute" x "$(getfattr --only-values -n user.mine "$BACK/p")"
expect "times" "2001-02-03" "$(date -r "$BACK/p/f" +%F)"

anew
mv "$MNT/x" "$MNT/keep/in/x"
mv "$MNT/keep/in/x/y" "$MNT/keep/q"
mv "$MNT/keep/q/z" "$MNT/keep/in/x/Z"
commits "renames in a renamed directory" x=keep/in/x x/y=keep/q x/y/z=keep/in/x/Z

anew
mv "$MNT/x" "$MNT/p"
mv "$MNT/p/y" "$MNT/keep/y"
mv "$MNT/p" "$MNT/x"
mv "$MNT/keep/y" "$MNT/x/y"
mv "$MNT/one" "$MNT/keep/one"
mv "$MNT/keep/one" "$MNT/one"
echo more >>"$MNT/x/y/g"
expect "changes of directories that have come back" "$(printf 'M\tx/y/g')" "$(changes)"
commits "directories that have come back" x=x x/y=x/y one=one

anew
mv "$MNT/x/y/z" "$MNT/z"
mv "$MNT/x/y" "$MNT/z/y"
mv "$MNT/x" "$MNT/z/y/x"
commits "inside out" x/y/z=z x/y=z/y x=z/y/x

anew
mv "$MNT/one" "$MNT/tmp"
mv "$MNT/two" "$MNT/one"
mv "$MNT/tmp" "$MNT/two"
commits "a swap" one=two two=one one/1=two/1

anew
rm -r "$MNT/gone" "$MNT/keep"
mv "$MNT/x" "$MNT/gone"
mv "$MNT/gone/y" "$MNT/keep"
commits "onto removed names" x=gone x/y=keep

anew
mv "$MNT/x" "$MNT/p"
mkdir "$MNT/x"
echo new >"$MNT/x/f"
mv "$MNT/one" "$MNT/x/one"
mv "$MNT/two" "$MNT/2"
echo "a file" >"$MNT/two"
commits "old names anew" x=p one=x/one two=2

anew
mv "$MNT/x" "$MNT/p"
echo changed >>"$MNT/p/f"
chmod 700 "$MNT/p" "$MNT/p/y/z"
chown 12:34 "$MNT/p/y/g"
setfattr -n user.mine -v changed "$MNT/p"
setfattr -n user.more -v more "$MNT/p/y"
rm "$MNT/p/y/z/h"
mkdir -p "$MNT/p/new/deep"
echo new >"$MNT/p/new/deep/file"
ln "$MNT/p/new/deep/file" "$MNT/p/link"
mv "$MNT/p/y/g" "$MNT/p/g"
mv "$MNT/file" "$MNT/p/file"
rm -r "$MNT/old/sub"
mv "$MNT/old" "$MNT/p/new/old"
echo in >"$MNT/p/new/old/in"
commits "changed content" x=p x/y=p/y old=p/new/old
expect "a changed attribute" changed "$(getfattr --only-values -n user.mine "$BACK/p")"

# --- layers ---------------------------------------------------------------------------------------

freeze () {
    overlay freeze "$MNT" >/dev/null || fail "a freeze"
}
anew
mv "$MNT/x" "$MNT/p"
echo 1 >>"$MNT/p/f"
freeze
mv "$MNT/p" "$MNT/q"
echo 2 >>"$MNT/q/f"
echo 2 >>"$MNT/q/y/g"
mkdir "$MNT/x"
mv "$MNT/q/y" "$MNT/x/y"
freeze
mv "$MNT/q" "$MNT/x/q"
mv "$MNT/x/y" "$MNT/p"
rm "$MNT/p/g"
mv "$MNT/x" "$MNT/r"
mv "$MNT/one" "$MNT/r/one"
mkdir "$MNT/one"
freeze
mv "$MNT/r/one" "$MNT/one/1"
rm -r "$MNT/two"
mv "$MNT/r/q" "$MNT/two"
commits "layers that rename the same directories" x=two x/y=p one=one/1
expect "lines of layers" "x/f 1 2" "$(xargs <"$BACK/two/f")"

# Open files and working directories stay.
anew
mv "$MNT/x" "$MNT/p"
python3 - "$WINDLASS" "$MNT" "$BACK" <<'EOF_PY' || fail "open files"
import os, subprocess, sys
windlass, mount, back = sys.argv[1:]
def commit():
    subprocess.run([windlass, "overlay", "commit", mount], check=True, stdout=sys.stderr)
os.chdir(mount + "/p/y")
here = os.open(mount + "/p", os.O_RDONLY)
read = os.open("g", os.O_RDONLY)
written = os.open("z/h", os.O_RDWR | os.O_APPEND)
os.write(written, b"one\n")
before = [os.fstat(fd).st_ino for fd in (here, read, written)], os.stat(".").st_ino
commit()
after = [os.fstat(fd).st_ino for fd in (here, read, written)], os.stat(".").st_ino
assert before == after, (before, after)
os.write(written, b"two\n")
assert os.pread(read, 9, 0) == b"x/y/g\n" and sorted(os.listdir(here)) == ["f", "y"]
os.rename(mount + "/p/y", mount + "/y")
open("made", "w").close()
assert os.getcwd() == mount + "/y"
assert open(back + "/p/y/z/h").read() == "x/y/z/h\none\n"
commit()
assert open(back + "/y/z/h").read() == "x/y/z/h\none\ntwo\n" and os.listdir(back + "/p") == ["f"]
assert os.path.exists(back + "/y/made")
EOF_PY
expect "the same after open files" "$(listing "$BACK")" "$(listing "$MNT")"

# --- what is refused ------------------------------------------------------------------------------

# refused MESSAGE: a commit that changes nothing.
refused () {
    local below view
    below=$(numbers "$BACK")
    view=$(listing "$MNT")
    expect_error "$1.*nothing was committed" commit
    expect "the directory after: $1" "$below" "$(numbers "$BACK")"
    expect "the view after: $1" "$view" "$(listing "$MNT")"
}
anew
rm -r "$MNT/gone"
mv "$MNT/x" "$MNT/gone"
echo more >"$BACK/gone/more"
refused "'/gone/more' is there below the view, and there is no record"
rm "$BACK/gone/more"
chmod 700 "$MNT/gone"
chmod 711 "$BACK/x"
refused "'/x' was changed below the view since"
commit --force >/dev/null || fail "a commit by force"
expect "the mode" 700 "$(stat -c %a "$BACK/gone")"

anew
mv "$MNT/x" "$MNT/p"
echo mine >"$MNT/p/f"
mkdir "$BACK/p"
unmount
mount_volfile "$VOL"
refused "'/p' is there below the view, and there is no record"
rmdir "$BACK/p"
echo theirs >"$BACK/x/f"
refused "'/p/f' was changed below the view since the view changed it"
mv "$BACK/x" "$BACK/elsewhere"
unmount
mount_volfile "$VOL"
refused "'/p' is a directory that the view has renamed, and somebody has moved or removed"
mv "$BACK/elsewhere" "$BACK/x"
unmount
mount_volfile "$VOL"
expect_error "'/p' is, or is in, a directory that the view has renamed, which can't be applied: .*com" \
    overlay apply --with "$MNT" p
commit --force >/dev/null || fail "a second commit by force"
expect "the view's file" mine "$(cat "$BACK/p/f")"
unmount

rm -rf "$UPPER" "$BACK"
mkdir -p "$UPPER" "$BACK/mounted" "$BACK/dir"
mount -t tmpfs windlass-test "$BACK/mounted"
mkdir "$BACK/mounted/dir"
mount_volfile "$VOL"
mv "$MNT/dir" "$MNT/mounted/new"
refused "'/mounted/new' was renamed to another file system"
mv "$MNT/mounted/new" "$MNT/dir"
mv "$MNT/mounted/dir" "$MNT/mounted/other"
refused "'/mounted/dir', which the view has renamed to '/mounted/other', is on a file system"
unmount
umount "$BACK/mounted"

# --- while programs work --------------------------------------------------------------------------

anew
cat >moves.py <<'EOF_PY'
import os, sys, time
mount = sys.argv[1]
end = time.time() + 60
os.chdir(mount)
n = 0
while not os.path.exists(sys.argv[2]) and time.time() < end:
    n += 1
    for old, new in (("x", "p"), ("one", "p/one"), ("two", "one"), ("p/one", "two"), ("p", "x")):
        os.rename(old, new)
        assert set(os.listdir(".")) <= set("x p one two old gone keep file".split()), os.listdir(".")
        assert os.listdir(new), new
    with open("x/y/g", "a") as file:
        file.write("%d\n" % n)
print(n)
EOF_PY
python3 moves.py "$MNT" "$PWD/stop" >moved &
mover=$!
for _ in {1..8}; do commit || fail "a commit beside renames"; done >beside
touch stop
wait "$mover" || fail "a program that renames failed"
commit >/dev/null || fail "a last commit"
expect "the same at last" "$(listing "$BACK")" "$(listing "$MNT")"
expect "the lines" "$(($(cat moved) + 1))" "$(wc -l <"$BACK/x/y/g")"
expect "names at last" "file gone keep old one two x" "$(ls -A "$BACK" | xargs)"
unmount
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
