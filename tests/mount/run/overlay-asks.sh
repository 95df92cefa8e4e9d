#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass run overlay: --apply makes the changes in the directory, or says why not; at a terminal
# it asks; descriptors that the command would inherit are closed, and those of files in the
# directory are told.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

need_command python3
need_fuse
export XDG_STATE_HOME=$TEST_DIR/home
DIR=$TEST_DIR/place/dir
mkdir -p "$DIR/deep"
run () {
    "$WINDLASS" run overlay "$@"
}
ask () { # ANSWER: runs a command that changes a file to the answer, and answers the question
    python3 "$SOURCE_DIR/tests/mount/run/at-terminal.py" \
        "apply, keep or discard these changes? [keep] " "$1" \
        "$WINDLASS" run overlay "$DIR" -- sh -c "echo $1 >'$DIR/answer'; exit 3" >screen
    expect "the status of the command" 3 $?
    expect_match "the change on the screen" "(added|changed)  +/answer" "$(cat screen)"
}

# --- applied by an option -------------------------------------------------------------------------

echo old >"$DIR/file"
echo gone >"$DIR/gone"
run --apply "$DIR" -- sh -c "cd '$DIR'; echo new >file; rm gone; mkdir made; echo in >made/in
    exit 4" 2>told </dev/null
expect "the status of the command" 4 $?
expect_match "the changes" "^changed  /file \(content\)$" "$(cat told)"
expect_match "what was done" "^4 changes applied; " "$(cat told)"
expect_match "where the command is" "the current folder is outside of '$DIR'" "$(cat told)"
expect "the directory" "$(printf 'deep\nfile\nmade\nmade/in')" \
    "$(cd "$DIR" && find . -mindepth 1 | sed 's|^./||' | sort)"
expect "a file" new "$(cat "$DIR/file")"
expect "nothing is left" "" "$(ls -A "$TEST_DIR/place/.windlass-overlays")"

run --apply --json "$DIR" -- touch "$DIR/json" >json 2>/dev/null </dev/null
expect "JSON" "0 True False 1" "$(python3 -c 'import json
told = json.load(open("json"))
print(told["status"], told["applied"], told["kept"], len(told["changes"]))')"

# Renamed directories, for which an ordinary user's view has no marks: mv copies them there.
(cd "$DIR" && run --apply . -- sh -c "mv made moved; echo more >>moved/in") 2>told </dev/null ||
    fail "exit status $?: $(cat told)"
expect "a renamed directory" "$(printf 'in\nmore')" "$(cat "$DIR/moved/in")"
[ ! -e "$DIR/made" ] || fail "the renamed directory has its old name, too"
expect_no_match "the folder of the command" "outside" "$(cat told)"
expect "nothing is left" "" "$(ls -A "$TEST_DIR/place/.windlass-overlays")"

# What was changed below meanwhile is kept.
run --apply "$DIR" -- sh -c "echo mine >'$DIR/file'
    : >'$TEST_DIR/changed'; while [ ! -e '$TEST_DIR/behind' ]; do sleep 0.02; done" 2>told \
    </dev/null &
pid=$!
for _ in {1..1000}; do [ -e changed ] && break; sleep 0.02; done
echo theirs >"$DIR/file"
: >behind
wait $pid
expect "the status" 125 $?
expect_match "a conflict" "can't be applied: '/file' was changed below the view since" \
    "$(cat told)"
expect_match "it is kept" "the changes are kept as 'dir-" "$(cat told)"
expect "the directory's file" theirs "$(cat "$DIR/file")"
rm -r "$TEST_DIR/place/.windlass-overlays"

# --- at a terminal --------------------------------------------------------------------------------

ask apply
expect "an answer that applies" apply "$(cat "$DIR/answer")"
expect "nothing is left" "" "$(ls -A "$TEST_DIR/place/.windlass-overlays")"
ask discard
expect "an answer that discards" apply "$(cat "$DIR/answer")"
expect "nothing is left" "" "$(ls -A "$TEST_DIR/place/.windlass-overlays")"
ask ""
expect "no answer" apply "$(cat "$DIR/answer")"
expect_match "it is kept" "kept as 'dir-" "$(cat screen)"
rm -r "$TEST_DIR/place/.windlass-overlays"

# --- descriptors ----------------------------------------------------------------------------------

echo 'closed=1; [ -e /proc/self/fd/7 ] && closed=0; echo $closed' >closed.sh
expect "an inherited descriptor" 1 "$(run --discard "$DIR" -- sh closed.sh 7<"$DIR/file" 2>told)"
expect_no_match "descriptors in the directory" "standard" "$(cat told)"
run --discard "$DIR" -- cat <"$DIR/file" >/dev/null 2>told
expect_match "standard input" "^windlass run: standard input is '$DIR/file' itself" "$(cat told)"
