#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is mounted inside the mount stays, and working directories keep their paths, when others
# change the directory, a brick is started again, or a brick is away.
. "$(dirname "$0")/brick-lib.sh"
. "$(dirname "$0")/watch-lib.sh"
need_command python3

# inside FILE: mounts on a directory and on a file of the mount
inside () {
    mount -t tmpfs inside "$MNT/d/sub" && mount --bind "$TEST_DIR/bound" "$MNT/d/f" ||
        fail "could not mount inside"
    (cd "$MNT/d/here" && exec sleep 600) &
    resident=$!
    wait_until '[ "$(readlink /proc/$resident/cwd)" = "$MNT/d/here" ]'
}

# stays WHEN
stays () {
    expect "what is mounted inside, $1" $'f\nsub' \
        "$(awk -v dir="$MNT/d/" 'index ($5, dir) == 1 { print substr ($5, length (dir) + 1) }' \
            /proc/self/mountinfo | sort)"
    expect "the working directory, $1" "$MNT/d/here" "$(readlink "/proc/$resident/cwd")"
}

# without: the end of both
without () {
    kill "$resident"
    wait "$resident" 2>/dev/null
    umount "$MNT/d/sub" "$MNT/d/f" || fail "not mounted any more"
}
echo bound >bound

# --- a directory that others change -----------------------------------------------------------

mkdir -p "$BACK/d/sub" "$BACK/d/here"
touch "$BACK/d/f"
POSIX_OPTIONS="watch=inodes" stack
mount_volfile "$VOL" "${HOUR[@]}"
inside
expect "a missing name" no "$(test -e "$MNT/d/new" || echo no)"
python3 - "$BACK/d" <<'EOS'
import os, sys
os.chdir(sys.argv[1])
for name in "sub", "f", "here":
    os.rename(name, "away")
    os.rename("away", name)
open("new", "w").write("new")
EOS
sees "a new name" "cat '$MNT/d/new'" new
stays "after another's changes"
without
rmdir "$BACK/d/here"
sees "a directory that is gone" "test -e '$MNT/d/here' || echo gone" gone
unmount

# --- a brick ------------------------------------------------------------------------------------

brick one
mkdir -p one.d/d
brick_volfile one
mount_volfile "$VOL" "${HOUR[@]}"
mkdir "$MNT/d/sub" "$MNT/d/here"
touch "$MNT/d/f"
inside
mkdir "$TEST_DIR/other"
"$WINDLASS" -f "$VOL" -l "$TEST_DIR/other.log" -p "$TEST_DIR/other.pid" "$TEST_DIR/other" ||
    fail "no second client"
other=$(cat "$TEST_DIR/other.pid")
expect "the names" "f here sub" "$(ls "$MNT/d" | xargs)"
echo new >"$TEST_DIR/other/d/new"
sees "another client's file" "ls '$MNT/d' | xargs" "f here new sub"
stays "after another client's change"
umount "$TEST_DIR/other"
wait_until "! is_running $other"

: >"$LOG"
brick_kill one
wait_until "grep -q 'lost the connection' '$LOG'"
brick_start one
wait_until "stat '$MNT/d/new' >/dev/null 2>&1"
stays "after the brick was started again"
without
unmount

# --- look-ups that fail -------------------------------------------------------------------------

# The kernel looks up each name of a path again, each time.
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=3600
echo content >"$MNT/d/new"
inside
: >"$LOG"
brick_kill one
wait_until "grep -q 'lost the connection' '$LOG'"
for name in sub f new; do
    expect_error "not connected" cat "$MNT/d/$name"
done
expect_error "not connected" mkdir "$MNT/d/more"
brick_start one
wait_until "stat '$MNT/d/new' >/dev/null 2>&1"
stays "after look-ups without a brick"
expect "a file that was looked up meanwhile" content "$(cat "$MNT/d/new")"

brick_freeze one
stat "$MNT/d/sub" >/dev/null 2>&1 &
asker=$!
wait_until "'$WINDLASS' inflight '$MNT' | grep -qi lookup"
kill -9 "$asker"
wait_until 5 "! is_running $asker"
kill -CONT "${BRICK_PID[one]}"
wait_until "stat '$MNT/d/new' >/dev/null 2>&1"
stays "after a caller was killed in a look-up"
without
rm "$TEST_DIR/one.d/d/new"
expect "a name that is gone" gone "$(test -e "$MNT/d/new" || echo gone)"
unmount
