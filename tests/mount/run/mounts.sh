#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass run overlay and mounts below DIR: the view has those that there are when it begins, and no
# other; the folder of its changes may lie in DIR. As root, and as an ordinary user.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

need_root
need_fuse
let_users_mount
need_user_namespaces
chmod 755 "$TEST_DIR"

# A place whose mounts come to other mount namespaces, as on all machines with systemd.
mkdir place
mount --bind place place
mount --make-rshared place
PLACE=$TEST_DIR/place
DIR=$PLACE/dir

# view WHO: runs as that function.
view () {
    local who=$1
    rm -f started go
    mount -t tmpfs none "$DIR/before"
    echo below >"$DIR/before/file"
    chmod -R a+rwX "$DIR"
    "$who" "$WINDLASS" run overlay --discard "$DIR" -- sh "$TEST_DIR/command" "$DIR" \
        >said 2>told </dev/null &
    wait_until "[ -e started ]"
    mount -t tmpfs none "$DIR/late"
    touch "$DIR/late/surprise"
    umount "$DIR/before"
    touch go
    wait $! || fail "the run as $who: $(cat told)"
    umount "$DIR/late"
    expect "what the command sees as $who" "below changed changed " "$(tr '\n' ' ' <said)"
    expect_match "the changes as $who" "^changed  /before/file" "$(cat told)"
}
cat >command <<END
cat "\$1/before/file"
echo changed >"\$1/before/file"
cat "\$1/before/file"
touch "$TEST_DIR/started"
until [ -e "$TEST_DIR/go" ]; do sleep 0.05; done
cat "\$1/before/file"
ls "\$1/late"
END
chmod 777 .
as_root () {
    "$@"
}
export XDG_STATE_HOME=$TEST_DIR/state XDG_RUNTIME_DIR=
mkdir -m 777 state
mkdir -p "$DIR/before" "$DIR/late"
chmod 777 "$PLACE"
view as_root
rm -rf "$PLACE/.windlass-overlays" state/*
view user
rm -rf "$PLACE/.windlass-overlays" state/*

# --- the folder of the changes in DIR -------------------------------------------------------------

# walk WHO: the names that a command finds, and what it changes meanwhile.
walk () {
    "$1" timeout 100 "$WINDLASS" run overlay --discard "$DIR" -- \
        sh -c "cd '$DIR' && echo new >made && find . | sort" >said 2>told </dev/null ||
        fail "a walk as $1: $(cat told)"
    expect_match "the changes as $1" "^added    /made$" "$(cat told)"
    expect_match "where they are as $1" "changes go to '$DIR/state/" "$(cat told)"
    expect_match "the list of views as $1" '^\./state/windlass/overlays$' "$(cat said)"
    expect_no_match "the folder as $1" '/changes|/layers' "$(cat said)"
}
: >"$PLACE/.windlass-overlays"
export XDG_STATE_HOME=$DIR/state
mkdir -m 777 "$DIR/state"
walk as_root
rm -rf "$DIR/state"
mkdir -m 777 "$DIR/state"
walk user
umount place
