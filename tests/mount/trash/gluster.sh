#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# layout gluster: the same operations on GlusterFS 10's trash and on ours leave the same tree.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command glusterfs

# operations FOLDER: prints the errors that a user gets.
operations () (
    cd "$1" || exit 1
    exec 2>&1
    umask 022
    mkdir -p a/b/c empty build/below buildings tmp/x dir
    chmod 711 a
    chmod 750 a/b
    chmod 1777 dir
    echo one >a/b/c/file
    echo two >a/b/file
    echo top >top
    rm a/b/c/file a/b/file top
    rmdir empty
    ln -s target link
    mkfifo pipe
    rm link pipe
    echo eliminated | tee build/below/file build/file tmp/x/file >/dev/null
    echo kept | tee buildings/file tmp/xx >/dev/null
    rm build/below/file build/file tmp/x/file buildings/file tmp/xx
    echo text >first
    ln first second
    rm first
    rm second
    head -c 100K /dev/zero >large
    head -c 100001 /dev/zero >too_large
    truncate -s 100000 fits
    truncate -s 100000 large
    rm large fits too_large
    echo old >replaced
    echo new >replacing
    mv -f replacing replaced
    echo odd >"$(printf 'new\nline \377 %%41')"
    rm new*
    python3 - <<'END'
import os
os.mkfifo("socket-like")
for what, call in (("rmdir", lambda: os.rmdir(".trashcan")),
                   ("rename", lambda: os.rename(".trashcan", "other")),
                   ("mkdir", lambda: os.mkdir(".trashcan"))):
    try:
        call()
        print(what, "works")
    except OSError as error:
        print(what, error.strerror)
END
    echo again >a/b/c/again
    rm a/b/c/again
    rm .trashcan/a/b/c/again*
    echo stays >.trashcan/own
    rm .trashcan/own
    echo blocks >.trashcan/blocked
    mkdir blocked
    echo lost >blocked/file
    rm blocked/file
    rm -r a
)

# tree FOLDER: the tree, without times.
tree () (
    cd "$1" || exit 1
    find . -path ./.glusterfs -prune -o -printf '%M %s %l %P\0' |
        sed -zE 's/^(d[^ ]*) [0-9]+/\1 -/;
            s/_20[0-9]{2}-[0-9]{2}-[0-9]{2}_[0-9]{6}_\+0000$/_TIME/' | sort -z | tr '\0\n' '\n?'
    find . -path ./.glusterfs -prune -o -type f -size -2k -print0 | sort -z | xargs -0 cat
)

gluster_mount '    option trash on
    option trash-dir .trashcan
    option trash-max-filesize 100000
    option trash-eliminate-path build,/tmp/x/'
operations "$TEST_DIR/stock" >stock.said
umount "$TEST_DIR/stock"

mount_like_gluster
wait_until '[ -d "$BACK/.trashcan" ]'
operations "$MNT" >ours.said
expect_match "explain" "goes to '/.trashcan'" "$("$WINDLASS" explain "$MNT/replaced")"
unmount
expect "what a user is told" "$(cat stock.said)" "$(cat ours.said)"
expect "the tree" "$(tree stock.d)" "$(tree "$BACK")"
expect_match "a file in it" '_TIME' "$(tree "$BACK")"
