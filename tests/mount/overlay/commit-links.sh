#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Hard links and times in freezes, applies and commits of cluster/overlay: the names of a file stay
# one file, in the frozen layer and in the directory below; a name that the view gives a file of
# that directory becomes one of the same inode; a time that was set there is set below.
# builds: debug release
. "$(dirname "$0")/lib.sh"

need_root
need_command python3
mkdir -p "$UPPER" "$BACK/dir/deep" "$BACK/removed" "$BACK/timed/below" \
    "$BACK/timed/moves" "$BACK/type/in"
overlay_volfile
freeze () {
    overlay freeze "$MNT" "$@"
}
commit () {
    overlay commit "$MNT" "$@"
}
# one DIRECTORY NAME...: the names are of one file: prints the link count, and the content.
one () {
    local directory=$1 name
    shift
    for name; do
        [ "$directory/$1" -ef "$directory/$name" ] || fail "'$1' and '$name' are two files"
    done
    stat -c %h "$directory/$1" | tr '\n' ' '
    cat "$directory/$1"
}
mounted () {
    mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
}

# Types, link counts, sizes and times.
listing () {
    (cd "$1" && find . -mindepth 1 \( -type d -printf '%p %y %T@\n' \) \
        -o -printf '%p %y %n %s %T@\n' | sort)
}

# three NAME: makes a file with three names.
three () {
    echo "old $1" >"$BACK/$1"
    ln "$BACK/$1" "$BACK/dir/$1"
    ln "$BACK/$1" "$BACK/dir/deep/$1"
}
for file in plain again gone lost unknown; do three $file; done
ln "$BACK/gone" "$BACK/removed/gone"
echo alone >"$BACK/alone"
echo moved >"$BACK/moved"
echo pair >"$BACK/pair"
ln "$BACK/pair" "$BACK/dir/pair"
mounted

# --- new names of files that have not changed -----------------------------------------------------

below=$(stat -c '%i' "$BACK/alone" "$BACK/moved" "$BACK/plain" | xargs)
ln "$MNT/alone" "$MNT/dir/alone"
ln "$MNT/alone" "$MNT/dir/deep/alone"
mv "$MNT/moved" "$MNT/dir/moved-too"
ln "$MNT/dir/plain" "$MNT/plain-too"
expect_error "'/dir/alone' needs '/dir/deep/alone', another name of the file" \
    overlay apply "$MNT" dir/alone
overlay apply "$MNT" dir/alone dir/moved-too --with >/dev/null || fail "no apply of new names"
expect "an applied name" "3 alone" "$(one "$BACK" alone dir/alone dir/deep/alone)"
expect "an applied name in the view" "3 alone" "$(one "$MNT" alone dir/alone dir/deep/alone)"
expect "an applied rename in the view" "1 moved" "$(one "$MNT" dir/moved-too)"
expect "changes that are left" "$(printf 'A\tplain-too')" "$(changes)"

# Names of an unchanged file leave the upper together.
ln "$MNT/pair" "$MNT/pair-too"
mv "$MNT/dir/pair" "$MNT/dir/moves"
mv "$MNT/dir/moves" "$MNT/dir/pair"
expect_match "an apply of one name" '^1 changes applied' "$(overlay apply "$MNT" pair-too)"
expect "an upper without them" "" "$(find "$UPPER/layers" -name '*pair*')"
expect "the names" "3 pair" "$(one "$MNT" pair dir/pair pair-too)"
echo single >"$MNT/single"
ln "$MNT/single" "$MNT/dir/single"
commit >/dev/null || fail "no commit of new names"
expect "a name" "3 alone" "$(one "$BACK" alone dir/alone dir/deep/alone)"
expect "a renamed file" "1 moved" "$(one "$BACK" dir/moved-too)"
expect "a name of a file with several" "4 old plain" \
    "$(one "$BACK" plain dir/plain dir/deep/plain plain-too)"
expect "the files are those of before" "$below" \
    "$(stat -c '%i' "$BACK/alone" "$BACK/dir/moved-too" "$BACK/plain" | xargs)"
expect "a name in the view" "3 alone" "$(one "$MNT" alone dir/alone dir/deep/alone)"
expect "no changes" "" "$(changes)"

# --- a freeze of changed files --------------------------------------------------------------------

echo changed >"$MNT/plain"
echo changed >"$MNT/dir/gone"
rm -r "$MNT/removed" "$MNT/dir/deep/gone"
times=$(stat -c '%y' "$MNT/dir" "$MNT/dir/deep" | xargs)
freeze >/dev/null || fail "no freeze of a file with several names"
expect "the layer's names" "4 changed" \
    "$(one "$UPPER/layers/1" plain dir/plain dir/deep/plain plain-too)"
expect "the index" "" "$(ls -A "$UPPER/work/index")"
expect "names in the view" "4 changed" "$(one "$MNT" plain dir/plain dir/deep/plain plain-too)"
expect "names that are left" "2 changed" "$(one "$MNT" gone dir/gone)"
expect "times of directories" "$times" "$(stat -c '%y' "$MNT/dir" "$MNT/dir/deep" | xargs)"
unmount
mounted
expect "names in the next mount" "4 changed" \
    "$(one "$MNT" dir/deep/plain plain dir/plain plain-too)"
echo twice >"$MNT/dir/plain"
expect "a change after the freeze" "4 twice" "$(one "$MNT" plain dir/plain dir/deep/plain plain-too)"
echo changed >"$MNT/dir/again"
freeze >/dev/null || fail "no second freeze"
echo thrice >"$MNT/dir/deep/plain"

# --- a commit of three layers ---------------------------------------------------------------------

mkdir "$MNT/box"
mv "$MNT/dir/again" "$MNT/box/"
commit >/dev/null || fail "no commit of files with several names"
expect "the names below" "4 thrice" "$(one "$BACK" plain dir/plain dir/deep/plain plain-too)"
expect "names of which one has moved" "3 changed" "$(one "$BACK" again box/again dir/deep/again)"
expect "the names in the view" "4 thrice" "$(one "$MNT" plain dir/plain dir/deep/plain plain-too)"
expect "no changes" "" "$(changes)"
expect "the same" "$(listing "$MNT")" "$(listing "$BACK")"

# --- a name that the view does not know -----------------------------------------------------------

echo changed >"$MNT/unknown"
freeze >/dev/null || fail "no freeze"
ln "$BACK/unknown" "$BACK/outside"
before=$(find "$BACK" -printf '%p %i %s\n' | sort)
expect_error "is one of 4 names of a file below the view, and 1 of them would keep the old content" \
    commit
expect "nothing was done" "$before" "$(find "$BACK" -printf '%p %i %s\n' | sort)"
rm "$BACK/outside"
commit --force >/dev/null || fail "no commit by force"
expect "the names" "3 changed" "$(one "$BACK" unknown dir/unknown dir/deep/unknown)"

# --- names that programs change during the commit -------------------------------------------------

cat >works.py <<'EOF_PY'
import os, sys, time
mount, stop = sys.argv[1:]
names = ["lost", "dir/lost", "dir/deep/lost"]
n = 0
end = time.time() + 60
while not os.path.exists(stop) and time.time() < end:
    n += 1
    with open(mount + "/" + names[n % 3], "w") as file:
        file.write("%d\n" % n)
    for name in names:
        with open(mount + "/" + name) as file:
            read = file.read()
        assert read == "%d\n" % n, (name, read, n)
        assert os.stat(mount + "/" + name).st_ino == os.stat(mount + "/lost").st_ino, name
    os.rename(mount + "/box", mount + "/box-too")
    os.rename(mount + "/box-too", mount + "/box")
EOF_PY
for command in freeze commit; do
    python3 works.py "$MNT" "$TEST_DIR/stop" 2>works.err &
    works=$!
    for _ in 1 2 3; do
        overlay $command "$MNT" >said 2>&1 || grep -q 'all the time' said || fail "$(cat said)"
    done
    touch stop
    wait $works || fail "a program beside $command: $(cat works.err)"
    rm stop
done
commit >/dev/null || fail "no last commit"
expect "the names of what was written last" "3 $(cat "$MNT/lost")" \
    "$(one "$BACK" lost dir/lost dir/deep/lost)"

# --- times ----------------------------------------------------------------------------------------

touch -d '2001-02-03 04:05:06' "$MNT/dir/moved-too" "$MNT/timed/below"
expect "times in the diff" \
    "$(printf 'changed  /dir/moved-too (time)\nchanged  /timed/below/ (time)')" \
    "$(overlay diff "$MNT" | sort)"
expect "the same in letters" "$(printf 'M\tdir/moved-too\nM\ttimed/below')" "$(changes)"
expect_match "the same in JSON" '"times": true' "$(overlay diff --json "$MNT")"
touch -d '2002-02-03' "$BACK/dir/moved-too"
expect_error "'/dir/moved-too' was changed below the view since the view changed it" commit
expect "nothing was done" 2002 "$(stat -c %y "$BACK/dir/moved-too" | cut -d- -f1)"
overlay discard "$MNT" dir/moved-too >/dev/null
touch -d '2003-02-03 04:05:06' "$MNT/alone" "$MNT/dir/moved-too"
mkdir "$MNT/timed/new"
rm -r "$MNT/type"
echo file >"$MNT/type"
mv "$MNT/timed/moves" "$MNT/dir/deep/moves"
touch -d '2004-02-03 04:05:06' "$MNT/timed"
touch -d '2006-02-03 04:05:06' "$MNT/dir"
shown=$(listing "$MNT")
commit >/dev/null || fail "no commit of times"
expect "times below" "2003-02-03 2003-02-03 2001-02-03 2004-02-03" "$(
    cd "$BACK" && stat -c %y alone dir/moved-too timed/below timed | cut -d' ' -f1 | xargs)"
expect "all times below" "$shown" "$(listing "$BACK")"
expect "all times in the view" "$shown" "$(listing "$MNT")"
expect "one file" "3 alone" "$(one "$BACK" alone dir/alone dir/deep/alone)"
expect "no changes" "" "$(changes)"
touch -d '2005-02-03 04:05:06' "$MNT/timed" "$MNT/dir/deep/alone"
overlay apply "$MNT" timed dir/deep/alone --with >/dev/null || fail "no apply of times"
expect "applied times" "2005-02-03 2005-02-03" \
    "$(cd "$BACK" && stat -c %y alone timed | cut -d' ' -f1 | xargs)"
