#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass overlay freeze of a kept view, and windlass run overlay --from: a new view begins with
# what another one has frozen, and changes neither that nor the directory.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

need_command python3
need_fuse
export XDG_STATE_HOME=$TEST_DIR/home
mkdir -p "$TEST_DIR/place/dir/deep" "$TEST_DIR/place/other"
DIR=$TEST_DIR/place/dir
STATE=$TEST_DIR/place/.windlass-overlays
echo text >"$DIR/file"
echo gone >"$DIR/gone"
echo deep >"$DIR/deep/file"
cp -a "$DIR" before
run () {
    "$WINDLASS" run overlay "$@" </dev/null
}
overlay () {
    "$WINDLASS" overlay "$@"
}
# Names, sizes and times of the layers of a view that are frozen, and the bytes.
layers () {
    (cd "$STATE/$1/changes/layers" && find "$2" -printf '%p %y %m %s %T@\n' | sort &&
        find "$2" -type f -exec md5sum {} + | sort)
}

# --- freeze without a mount, and by the command that runs -----------------------------------------

expect_error "--from: there is no kept view 'base'; 'windlass overlay status' lists them" \
    run --from base "$DIR" -- true
(cd "$DIR" && run --keep base . -- sh -c 'echo one >>file; rm gone; echo one >deep/one') \
    >/dev/null 2>&1
expect_error "--from: the view 'base' has no frozen layers; 'windlass overlay freeze base' makes" \
    run --from base "$DIR" -- true
expect_match "a freeze without a mount" "^'layers/0' is frozen; changes from now on" \
    "$(overlay freeze base)"
expect "no changes since" "" "$(overlay diff base)"
expect_error "--from: the view 'base' is one of '$DIR', not of '$TEST_DIR/place/other'" \
    run --from base "$TEST_DIR/place/other" -- true
expect "only the base has a folder" base "$(ls "$STATE")"
frozen=$(layers base 0)

# --- a view of it ---------------------------------------------------------------------------------

(cd "$DIR" && run --from base --keep second . -- sh -c 'cat file deep/one; ls
    echo two >>file; echo two >deep/two; rm deep/one; echo back >gone
    windlass=$1; "$windlass" overlay freeze "$WINDLASS_MOUNT"
    echo three >three' sh "$WINDLASS") >said 2>told
expect "what the view begins with" "$(printf 'text\none\none\ndeep\nfile')" "$(head -n 5 said)"
expect_match "its own freeze" "^'layers/0' is frozen" "$(sed -n 6p said)"
expect "its changes" "added    /three" "$(grep '^[a-z]* *  /' told)"
expect "the layer of the base" "$frozen" "$(layers base 0)"
diff -r before "$DIR" || fail "the directory has changed"
expect "who reads the base" "$STATE/second" "$(readlink "$STATE/base/changes/users/second")"
expect_match "the layers of the second view" "^volume 'frozen-0' is only read$" \
    "$(overlay status second)"

# A view of that view has the layers of both.
(cd "$DIR" && run --from second --discard . -- sh -c 'cat file gone; ls deep; ls three') \
    >said 2>/dev/null
expect "a view of the view" "$(printf 'text\none\ntwo\nback\nfile\ntwo')" "$(cat said)"
expect "the folders" "$(printf 'base\nsecond')" "$(ls "$STATE")"
expect "who reads the second view" "" "$(ls "$STATE/second/changes/users" 2>/dev/null)"

# What the frozen layers do not have is applied; the rest is told.
said=$(cd "$DIR" && run --from base --apply . -- sh -c 'echo x >>file; echo new >new' 2>&1)
expect "the status of an apply that was refused" 125 $?
expect_match "why" "'/file' is also in a layer between: volume 'frozen-0'; nothing was applied" \
    "$said"
diff -r before "$DIR" || fail "the directory has changed by an apply that was refused"
rm -r "$STATE"/dir-*
(cd "$DIR" && run --from base --apply . -- sh -c 'echo new >new') >/dev/null 2>&1
expect "the new file in the directory" new "$(cat "$DIR/new")"
rm "$DIR/new"
expect "the folders after that" "$(printf 'base\nsecond')" "$(ls "$STATE")"

# --- a view that others need ----------------------------------------------------------------------

cat >first.sh <<'EOF_SH'
echo first >first
"$1" overlay freeze "$WINDLASS_MOUNT" >"$2/frozen"
i=0
while [ ! -e "$2/end" ] && [ $i -lt 600 ]; do
    sleep 0.1
    i=$((i + 1))
done
EOF_SH
(cd "$DIR" && run --discard . -- sh "$TEST_DIR/first.sh" "$WINDLASS" "$TEST_DIR") >told 2>&1 &
first=$!
wait_until '[ -s frozen ]'
name=$(ls "$STATE" | grep '^dir-')
run --from "$name" --keep third "$DIR" -- cat "$DIR/first" >said 2>/dev/null
touch end
wait $first
expect "what the third view has" first "$(cat said)"
expect_match "a view that another one needs" "the view 'third' was begun from this one" \
    "$(cat told)"
[ -d "$STATE/$name/changes/layers/0" ] || fail "the layers are gone"
rm -r "$STATE/third"
ln -sfn "$STATE/nowhere" "$STATE/$name/changes/users/third" # a view of this name was somewhere else
run --from "$name" --keep third "$DIR" -- touch "$DIR/third" >/dev/null 2>&1
expect "who reads it now" "$STATE/third" "$(readlink "$STATE/$name/changes/users/third")"
rm -r "$STATE/third"
run --from "$name" --discard "$DIR" -- cat "$DIR/first" >said 2>/dev/null
expect "what a further view has" first "$(cat said)"

# A commit without a mount.
echo more >"$DIR/deep/more"
expect_error "the view '[^']*' was begun with the frozen layers of this one" overlay commit base
rm -r "$STATE/second" "$STATE/base/changes/users"
expect_match "a commit without a mount" "^3 changes committed, of 1 layers" "$(overlay commit base)"
expect "what was committed" "$(printf 'text\none\none\nmore')" \
    "$(cat "$DIR/file" "$DIR/deep/one" "$DIR/deep/more")"
expect_error "No such file" cat "$DIR/gone"
rm -r "$DIR"
cp -a before "$DIR"

# A view that has frozen something is kept, also if nothing has changed since, but for --discard.
(cd "$DIR" && run . -- sh -c 'echo x >x; "$1" overlay freeze "$WINDLASS_MOUNT"' sh "$WINDLASS") \
    >/dev/null 2>told
expect_match "nothing since" "^windlass run: nothing was changed since the last freeze$" \
    "$(cat told)"
expect_match "it is kept" "the changes are kept as 'dir-" "$(cat told)"
rm -r "$STATE"/dir-*
(cd "$DIR" && run --discard . -- sh -c 'echo x >x; "$1" overlay freeze "$WINDLASS_MOUNT"' sh \
    "$WINDLASS") >/dev/null 2>&1
expect "nothing is left" base "$(ls "$STATE")"
diff -r before "$DIR" || fail "the directory has changed at last"
