#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A git repository lives on a mount.
. "$(dirname "$0")/../lib.sh"
need_command git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a \
    GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

stack encryption/rot-13
mount_volfile "$VOL"
expect_ok git init -q "$MNT/repository"
cd "$MNT/repository" || exit 1
for dir in {1..20}; do
    mkdir "$dir"
    for file in {1..25}; do
        echo "file $file of $dir" >"$dir/$file"
    done
done
ln -s 1/1 link
expect_ok git add .
expect_ok git commit -qm "many files"
expect_ok git mv 3 moved
expect_ok git rm -q 4/1
expect_ok git commit -qam "changes"
expect_ok git gc -q
expect_ok git fsck --full --strict
expect_ok git clone -q . "$MNT/clone"
expect "the clone" "" "$(diff -r --exclude=.git . "$MNT/clone" 2>&1)"
expect "status" "" "$(git status --porcelain)"

cd "$TEST_DIR" || exit 1
unmount
mount_volfile "$VOL"
cd "$MNT/clone" || exit 1
expect "status after another mount" "" "$(git status --porcelain 2>&1)"
expect_ok git checkout -q HEAD~1
expect "the number of files before" 501 "$(git ls-files | wc -l)"
expect_ok git fsck --full
cd "$TEST_DIR" || exit 1
