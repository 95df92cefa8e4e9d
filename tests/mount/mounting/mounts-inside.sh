#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is mounted inside the mount stays, and working directories keep their paths, when others
# change the directory, and when a look-up fails while storage is away.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../caches/watch-lib.sh"
. "$(dirname "$0")/mounts-lib.sh"
need_root
need_command python3

mkdir -p "$BACK/d/sub" "$BACK/d/here"
touch "$BACK/d/f"
POSIX_OPTIONS="watch=inodes" stack
mount_volfile "$VOL" "${HOUR[@]}"
inside
expect "a missing name" no "$(test -e "$MNT/d/new" || echo no)"
kill -STOP "$DAEMON" # it finds each name as it was
python3 - "$BACK/d" <<'EOS'
import os, sys
os.chdir(sys.argv[1])
for name in "sub", "f", "here":
    os.rename(name, "away")
    os.rename("away", name)
open("new", "w").write("new")
EOS
kill -CONT "$DAEMON"
sees "a new name" "cat '$MNT/d/new'" new
stays "after another's changes"
without
rmdir "$BACK/d/here"
sees "a directory that is gone" "test -e '$MNT/d/here' || echo gone" gone
unmount

# --- look-ups that fail -------------------------------------------------------------------------

mkdir "$BACK/d/here"
echo content >"$BACK/d/new"
stack debug/fault
# The kernel looks up each name of a path again, each time.
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=3600
inside
expect "a file" content "$(cat "$MNT/d/new")"
expect_ok "$WINDLASS" fault "$MNT" - <<<'* -> error ENOTCONN'
for name in sub f new; do
    expect_error "not connected" cat "$MNT/d/$name"
done
expect_error "not connected" mkdir "$MNT/d/more"
expect_ok "$WINDLASS" fault "$MNT" - <<<''
stays "after look-ups without storage"
expect "a file that was looked up meanwhile" content "$(cat "$MNT/d/new")"

expect_ok "$WINDLASS" fault "$MNT" - <<<'lookup -> hang'
stat "$MNT/d/sub" >/dev/null 2>&1 &
asker=$!
wait_until "'$WINDLASS' inflight '$MNT' | grep -qi lookup"
kill -9 "$asker"
wait_until 5 "! is_running $asker"
expect_ok "$WINDLASS" fault "$MNT" - <<<''
wait_until "stat '$MNT/d/new' >/dev/null 2>&1"
stays "after a caller was killed in a look-up"
without
rm "$BACK/d/new"
expect "a name that is gone" gone "$(test -e "$MNT/d/new" || echo gone)"
unmount
