#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The kernel resolves the name in `-o FILE` and judges the right to write there, as in a shell's
# redirection: fs.protected_symlinks and its like count. These settings belong to the whole machine:
# the test sets them as distributions do, and then restores them.
# alone
. "$(dirname "$0")/../lib.sh"

need_root
before=$(sysctl fs.protected_regular fs.protected_symlinks 2>/dev/null) ||
    skip "there is no fs.protected_regular"
restore () { sysctl -qw $(tr -d ' ' <<<"$before"); }
trap 'status=$?; restore; (exit $status); cleanup' EXIT

sysctl -qw fs.protected_regular=1 fs.protected_symlinks=1 2>/dev/null ||
    skip "fs.protected_* can't be set here"
mkdir -m 1777 public
echo precious >victim
chmod 600 victim
user sh -c 'ln -s ../victim public/link; ln -s ../new public/dangling; echo >public/regular'
stack
mount_volfile "$VOL"
expect_ok "$WINDLASS" trace start "$MNT"
expect_ok "$WINDLASS" timeline start "$MNT"
for name in link dangling regular; do
    ! (: >public/$name) 2>/dev/null || fail "a shell may write to public/$name"
    expect_error "'public/$name' can't be written: Permission denied" \
        "$WINDLASS" timeline stop "$MNT" --text -o public/$name
    expect_error "'public/$name' can't be written: Permission denied" \
        "$WINDLASS" trace cat "$MNT" -o public/$name
done
expect "what a link of another user's leads to" "precious 600" "$(cat victim) $(stat -c %a victim)"
[ ! -e new ] || fail "a file was made through a link of another user's"
expect "names in the public directory" "dangling link regular" "$(ls public | xargs)"
unmount
