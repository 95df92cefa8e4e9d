#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass run overlay: a command changes a view, and the directory stays as it is. The changes are
# told, and are kept under a name, or thrown away; the status is the command's. A kept view is in
# the list, and its volfile mounts it again.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

need_command python3
need_fuse
export XDG_STATE_HOME=$TEST_DIR/home
mkdir -p "$TEST_DIR/place/dir/deep"
DIR=$TEST_DIR/place/dir
echo text >"$DIR/file"
echo gone >"$DIR/gone"
cp -a "$DIR" before
same () {
    diff -r before "$DIR" || fail "$1: the directory has changed"
}
run () {
    "$WINDLASS" run overlay "$@"
}
change='echo new >>file; rm gone; echo made >deep/made; cat file'

# --- refused --------------------------------------------------------------------------------------

expect_error "^windlass run: of --apply, --discard and --keep only one can be given" \
    run --discard --keep x "$DIR" -- true
expect_error "begins with neither '.' nor '-', got 'a/b'" run --keep a/b "$DIR" -- true
expect_error "preset 'plain' keeps no changes" "$WINDLASS" run --discard plain "$DIR" -- true
expect "no view was begun" "" "$(ls -A "$TEST_DIR/place" | sed '/^dir$/d')"

# --- where the changes are ------------------------------------------------------------------------

# Storage beside the directory may lack what an overlay needs, as NFS and sshfs do.
stack "debug/error-gen,failure=100%,error-no=EINVAL,enable=rename"
mkdir "$BACK/dir"
mount_volfile "$VOL"
run --discard "$MNT/dir" -- touch "$MNT/dir/new" 2>told || fail "exit status $?: $(cat told)"
expect_match "a folder that takes no changes" "^windlass run: changes go to '$XDG_STATE_HOME/" \
    "$(cat told)"
expect_error "neither a folder beside '$MNT/dir' nor '$MNT/windlass/overlays' can take changes: " \
    env XDG_STATE_HOME="$MNT" "$WINDLASS" run overlay "$MNT/dir" -- true
expect "what is left there" "" "$(ls -A "$MNT/.windlass-overlays" 2>/dev/null)"
unmount

# --- thrown away ----------------------------------------------------------------------------------

cd "$DIR" || exit 1
said=$(run --discard . -- sh -c "$change; exit 3" 2>"$TEST_DIR/told")
expect "the status of the command" 3 $?
cd "$TEST_DIR" || exit 1
expect "what the command sees" "$(printf 'text\nnew')" "$said"
expect_match "a change" "^changed  /file \(content\)$" "$(cat told)"
expect_match "a removal" "^removed  /gone$" "$(cat told)"
expect_match "an addition" "^added    /deep/made$" "$(cat told)"
same "discarded"
expect "nothing is left" "" "$(ls -A "$TEST_DIR/place/.windlass-overlays")"
expect "the list" "" "$("$WINDLASS" overlay status)"

run "$DIR" -- cat "$DIR/file" >/dev/null 2>told
expect_match "a command that changes nothing" "^windlass run: nothing was changed$" "$(cat told)"
expect "nothing is left of it" "" "$(ls -A "$TEST_DIR/place/.windlass-overlays")"

# --- kept -----------------------------------------------------------------------------------------

(cd "$DIR" && run --keep trial . -- sh -c "$change") >/dev/null 2>told </dev/null
same "kept"
state=$TEST_DIR/place/.windlass-overlays/trial
expect_match "where it is kept" "kept as 'trial'; 'windlass -f $state/view.vol MOUNTPOINT' mounts" \
    "$(cat told)"
expect "the list" "trial  $DIR  (changes are in $state)" "$("$WINDLASS" overlay status)"
expect_error "there is a kept view 'trial' already" run --keep trial "$DIR" -- true
mount_volfile "$state/view.vol"
expect "the kept view" "$(printf 'text\nnew')" "$(cat "$MNT/file")"
expect "its changes" "$(printf 'A\tdeep/made\nD\tgone\nM\tfile')" \
    "$("$WINDLASS" overlay diff --name-status "$MNT" | sort)"
unmount

# Without a mount the commands take the name.
expect "the changes of the name" "$(printf 'A\tdeep/made\nD\tgone\nM\tfile')" \
    "$("$WINDLASS" overlay diff --name-status trial | sort)"
expect_match "the counts of the name" '^1 added, 1 changed, 1 removed, 0 renamed$' \
    "$("$WINDLASS" overlay status trial)"
expect_match "a discard in the name" '^1 names discarded; ' \
    "$("$WINDLASS" overlay discard trial gone)"
expect "the other changes" "$(printf 'A\tdeep/made\nM\tfile')" \
    "$("$WINDLASS" overlay diff --name-status trial | sort)"
cp -a "$DIR" aside
expect_match "an apply of the name" '^1 changes applied; ' "$("$WINDLASS" overlay apply trial deep)"
expect "the directory" made "$(cat "$DIR/deep/made")"
expect "what is left" "$(printf 'M\tfile')" "$("$WINDLASS" overlay diff --name-status trial)"
rm -r "$DIR/deep" && cp -a aside/deep "$DIR"
same "apart from that"
expect_error "the view has changed nothing at '/deep'" "$WINDLASS" overlay apply trial deep
mount_volfile "$state/view.vol"
expect_error "in use by process [0-9]" "$WINDLASS" overlay diff trial
unmount

# A folder that was removed by hand is out of the list, and its name is free again.
rm -r "$state"
expect "the list without it" "" "$("$WINDLASS" overlay status)"
run --keep trial "$DIR" -- touch "$DIR/made" 2>told </dev/null
expect_match "the list with it again" '^trial  ' "$("$WINDLASS" overlay status)"

# Without a terminal or an answer the changes are kept under a name that is printed.
(cd "$DIR" && run . -- sh -c "$change") >/dev/null 2>told </dev/null
name=$(sed -n "s/.*kept as '\([^']*\)'.*/\1/p" told)
expect_match "the name" '^dir-[0-9]{8}-[0-9]{6}-[0-9]+$' "$name"
expect_match "it is in the list" "^$name  " "$("$WINDLASS" overlay status)"

# Where no folder can be made beside the directory, the changes are in the list.
mkdir -p shut/dir
: >"shut/.windlass-overlays"
echo text >shut/dir/file
run --keep home shut/dir -- sh -c "echo new >'$TEST_DIR/shut/dir/file'" 2>told </dev/null
expect "the directory" text "$(cat shut/dir/file)"
expect_match "another place" "^windlass run: changes go to '$XDG_STATE_HOME/windlass/overlays/home'" \
    "$(cat told)"

# So it is where the file system beside it can't keep them, as in another view.
cat >inner <<'END'
echo in >deep/new
mkdir deep/sub
echo deeper >deep/sub/file
END
run --discard "$DIR" -- sh -c "cd '$DIR' && '$WINDLASS' run overlay deep --apply -- \
    sh '$TEST_DIR/inner'; cat deep/new deep/sub/file" >said 2>told </dev/null
expect "a view in a view" "in deeper" "$(xargs <said)"
expect_match "its place" "windlass run: changes go to '$XDG_STATE_HOME/windlass/overlays/deep-" \
    "$(cat told)"
expect_no_match "what the outer view has changed" "added +/.*overlays" "$(cat told)"
same "a view in a view"

# Where there was no view, nothing is kept.
run --keep unborn "$DIR" work-directory=layers/0 -- true 2>told </dev/null
expect "a view that can't begin" 125 $?
expect_match "the reason" "there is no view" "$(cat told)"
expect_no_match "what is kept" "kept as" "$(cat told)"
expect_no_match "the list" unborn "$("$WINDLASS" overlay status)"
expect "its folder" "" "$(find place -name unborn)"

# As JSON, after the output of the command.
run --discard --json "$DIR" -- sh -c "cd '$DIR' && $change >/dev/null; exit 4" >json 2>/dev/null
expect "the status" 4 $?
expect "JSON" "4 False 3" "$(python3 -c 'import json
told = json.load(open("json"))
print(told["status"], told["kept"], len(told["changes"]))')"
same "after all"
