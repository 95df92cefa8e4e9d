#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass run overlay --from of a view whose commit was killed when it moved renamed directories:
# the moves are finished first, and a commit that is under way is told.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

need_root
export XDG_STATE_HOME=$TEST_DIR/home
DIR=$TEST_DIR/place/dir
STATE=$TEST_DIR/place/.windlass-overlays
mkdir -p "$DIR/x/in" "$DIR/two"
echo file >"$DIR/x/in/file"
run () {
    "$WINDLASS" run overlay "$@" </dev/null
}
shown="p:
in

p/in:
file
new"
listed () { # by a view of it
    run --from base --discard "$DIR" -- sh -c "cd '$DIR' && ls && ls -R p" 2>told
}

run --keep base "$DIR" -- sh -c "cd '$DIR' && mv x p && echo new >p/in/new" >/dev/null 2>&1
"$WINDLASS" overlay freeze base >/dev/null || fail "a freeze"
expect "what the view begins with" "$(printf 'p\ntwo\n%s' "$shown")" "$(listed)"

# The daemon is killed when the directory has its temporary name, and a power cut has taken the move
# away, and not the redirect in the layer.
sed 's|^volume overlay|volume slow\n    type debug/fault\n    subvolumes lower\nend-volume\n&|
    s|subvolumes changes lower|subvolumes changes slow|' "$STATE/base/view.vol" >slow.vol
mount_volfile slow.vol
echo 'fsyncdir path / nth 1 -> hang' >rules
"$WINDLASS" tell "$MNT" slow rules rules >said || fail "a rule"
"$WINDLASS" overlay commit "$MNT" >killed 2>&1 &
command=$!
hangs () { "$WINDLASS" tell "$MNT" slow show | grep -q 'waiting 1'; }
wait_until 30 hangs
expect_error "--from: a commit of the view 'base' is under way, .* is in use by process $DAEMON .*\
'windlass overlay commit base'" run --from base --discard "$DIR" -- true
kill -9 "$DAEMON"
wait $command && fail "a commit of a daemon that was killed: $(cat killed)"
umount -l "$MNT"
wait_until "! is_running $DAEMON"
mv "$(find "$DIR" -name '.windlass-commit.*')" "$DIR/x"
expect "what another view begins with" "$(printf 'p\ntwo\n%s' "$shown")" "$(listed)"
"$WINDLASS" overlay commit base >/dev/null || fail "a commit at last"
expect "the directory" "$(printf 'p\ntwo\n%s' "$shown")" "$(cd "$DIR" && ls && ls -R p)"
