#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A view answers the commands for mounts: inside, and by the name of its directory in other
# terminals of the same user, whose `windlass list` has it. Its volfile can be changed and reloaded.
# Of two views of a directory none is guessed. Other users are not told of it.
. "$(dirname "$0")/../lib.sh"
need_fuse
let_users_mount
need_user_namespaces
chmod 755 "$TEST_DIR"
mkdir -m 777 home dir
export HOME=$TEST_DIR/home XDG_RUNTIME_DIR=
DIR=$TEST_DIR/dir
mkfifo -m 666 end end2

# as WHO: sets $as, the words before a command of WHO.
as () {
    as=()
    [ "$1" = root ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$HOME")
}

for who in root user; do
    echo "as $who"
    as $who
    rm -rf "$DIR"/*
    echo uryyb >"$DIR/file"
    chmod 666 "$DIR/file"
    # shellcheck disable=SC2016
    "${as[@]}" "$WINDLASS" run rot-13 "$DIR" -- bash -c '
        "$0" counts "$WINDLASS_MOUNT"; "$0" explain "$WINDLASS_MOUNT/file"
        echo "$WINDLASS_VOLFILE"; touch "$WINDLASS_MOUNT/begun"
        read -r <"$1"; cat "$WINDLASS_MOUNT/file"' "$WINDLASS" "$TEST_DIR/end" >out 2>&1 &
    wait_until "[ -e '$DIR/begun' ]"
    expect_match "counts, inside" '^(process|pid|requests)' "$(cat out)"
    expect_match "explain, inside" 'rot-13' "$(cat out)"

    expect_match "the list" "^$DIR +rot-13 +[0-9]+ .* view " "$("${as[@]}" "$WINDLASS" list)"
    for command in counts inflight errors stats graph; do
        expect_ok "${as[@]}" "$WINDLASS" $command "$DIR"
    done
    volfile=$(tail -n 1 out)
    sed -i 's/# option decrypt-read off.*/option decrypt-read off/' "$volfile"
    expect_ok "${as[@]}" "$WINDLASS" reload "$DIR"

    # A second one.
    "${as[@]}" "$WINDLASS" run plain "$DIR" -- bash -c \
        "touch '$DIR/second'; read -r <'$TEST_DIR/end2'" &
    wait_until "[ -e '$DIR/second' ]"
    expect_error "'$DIR' has 2 views" "${as[@]}" "$WINDLASS" counts "$DIR"
    echo >end2
    wait_until "! '${as[0]-env}' ${as[*]:1} '$WINDLASS' list 2>&1 | grep -q plain"

    # Another user.
    other=(setpriv --reuid 1001 --regid 1001 --clear-groups env "HOME=$HOME")
    expect_error "'$DIR' is not a mount point" "${other[@]}" "$WINDLASS" counts "$DIR"
    expect_no_match "another user's list" "^$DIR " "$("${other[@]}" "$WINDLASS" list 2>&1)"
    echo >end
    wait
    expect "what it reads since the reload" uryyb "$(tail -n 1 out)"
done
