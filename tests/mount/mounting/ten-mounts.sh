#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Ten mounts of one user under load at once, with 8 MB of locked memory for all their io_urings: all
# data is written and read back, each answers meanwhile, and each ends.
# builds: release
# through: io_uring device
. "$(dirname "$0")/../lib.sh"
need_root
id games >/dev/null 2>&1 || skip "needs the user games"
need_command setpriv fusermount3 prlimit
need_mtab

as_games () {
    prlimit --memlock=8388608 setpriv --reuid games --regid games --clear-groups \
        env HOME="$TEST_DIR" "$@"
}

chmod 755 "$TEST_DIR"
for i in {0..9}; do
    mkdir -p "back$i" "mnt$i"
    chown games:games "back$i" "mnt$i"
    BACK=$TEST_DIR/back$i stack encryption/rot-13
    : >"log$i" && chmod 666 "log$i"
    as_games "$WINDLASS" -f "$VOL" -l "$TEST_DIR/log$i" "$TEST_DIR/mnt$i" || fail "mount $i"
done

# Each writer makes, syncs, reads back and removes files.
work='for round in $(seq "$2"); do
    head -c 200000 /dev/zero | tr "\0" "$(($3 % 10))" >"$1/f$3" && sync "$1/f$3" &&
        [ "$(tr -d "$(($3 % 10))" <"$1/f$3" | wc -c)" = 0 ] || exit 1
    cp "$1/f$3" "$1/g$3" && cmp "$1/f$3" "$1/g$3" && rm "$1/g$3" || exit 1
done'
writers=()
for i in {0..9}; do
    for j in {1..6}; do
        as_games sh -c "$work" sh "$TEST_DIR/mnt$i" "$(amount 5 50)" "$j" &
        writers+=($!)
    done
done
for i in {0..9}; do expect "mount $i answers" directory "$(as_games stat -c %F "$TEST_DIR/mnt$i")";
    done
for writer in "${writers[@]}"; do wait "$writer" || fail "a writer failed"; done
for i in {0..9}; do
    expect "files of mount $i" 6 "$(as_games ls "$TEST_DIR/mnt$i" | wc -l)"
    as_games fusermount3 -u "$TEST_DIR/mnt$i" || fail "mount $i has no end"
    expect_no_match "log $i" ' [EC] \[' "$(cat "log$i")"
done
