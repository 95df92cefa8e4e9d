#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass run overlay of an ordinary user: in a user namespace, with marks in user attributes.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

need_fuse
let_users_mount
need_user_namespaces
chmod 755 "$TEST_DIR"
mkdir -m 777 place home
export HOME=$TEST_DIR/home XDG_STATE_HOME=$TEST_DIR/home/state XDG_RUNTIME_DIR=
user mkdir -p place/dir/deep
user sh -c 'echo text >place/dir/file; echo gone >place/dir/gone; echo old >place/dir/deep/old'
cp -a place/dir before
run () {
    user "$WINDLASS" run overlay "$@"
}
change='echo new >>file; rm gone; rm -r deep; mkdir deep; echo made >deep/made; chmod 600 file'

said=$(run --discard place/dir -- sh -c "cd '$TEST_DIR/place/dir' && $change; cat file; exit 3" \
    2>told)
expect "the status of the command" 3 $?
expect "what the command sees" "$(printf 'text\nnew')" "$said"
diff -r before place/dir || fail "the directory has changed"
expect_match "a change" "^changed  /file \(content, mode 0644 -> 0600\)$" "$(cat told)"
expect_match "a removal" "^removed  /deep/old$" "$(cat told)"
expect_match "an addition" "^added    /deep/made$" "$(cat told)"
expect "nothing is left" "" "$(ls -A place/.windlass-overlays)"

run --keep trial place/dir -- sh -c "cd '$TEST_DIR/place/dir' && $change" 2>told </dev/null
expect_match "it is kept" "the changes are kept as 'trial'" "$(cat told)"
expect_match "the list" "^trial  $TEST_DIR/place/dir  " "$(user "$WINDLASS" overlay status)"
diff -r before place/dir || fail "the directory has changed"
