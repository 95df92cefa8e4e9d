#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Layers that fuse-overlayfs has written where it could make no devices: its whiteouts are names, and
# with option wh-volumes the view shows of them what fuse-overlayfs shows.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command fuse-overlayfs setfattr
WRITTEN=$TEST_DIR/written

# tree DIR: type, mode, size, target of a link, sum and path of each name.
tree () {
    (cd "$1" && find . -mindepth 1 \( -type d -printf '%y %m %p\n' \) -o -printf '%y %m %s %l %p\n' |
        sort -k3 && find . -type f -exec md5sum {} + | sort -k2)
}

for dir in plain gone emptied anew/old anew/deep replaced moved/in dir/deep; do
    mkdir -p "$BACK/$dir"
    echo "$dir" >"$BACK/$dir/one"
    echo "$dir" >"$BACK/$dir/two"
done
echo file >"$BACK/file"
echo gone >"$BACK/gone-file"
echo to-dir >"$BACK/to-dir"
ln -s file "$BACK/link"
cp -a "$BACK" before

# --- what fuse-overlayfs writes -------------------------------------------------------------------

# Its upper is in an overlay of the kernel, where no whiteout can be made, neither as a device nor by
# a rename.
mkdir -p "$WRITTEN/upper" "$WRITTEN/work" nothing through shown
grep -qw overlay /proc/filesystems || modprobe -q overlay || skip "needs the kernel's overlayfs"
mount -t overlay -o "lowerdir=nothing,upperdir=$WRITTEN/upper,workdir=$WRITTEN/work" test through ||
    skip "the kernel's overlayfs can't have its upper on the file system of $WRITTEN"
WRITTEN=$WRITTEN/upper
mkdir through/upper through/work
expect_ok fuse-overlayfs -o "lowerdir=$BACK,upperdir=through/upper,workdir=through/work" shown
(
    cd shown || exit 1
    rm gone-file link plain/one dir/deep/two emptied/one emptied/two
    rm -r gone anew to-dir replaced
    mkdir anew to-dir
    echo made >anew/made
    mkdir anew/deep
    echo made >to-dir/made
    echo replaced >replaced
    echo more >>file
    mkdir -p new/in
    echo new >new/in/file
    chmod 700 dir/deep
) || fail "changes through fuse-overlayfs"
written=$(tree shown)
fusermount3 -u shown
umount through
[ -n "$(find "$WRITTEN/upper" -name '.wh.*')" ] || fail "fuse-overlayfs has written no such names"
expect "devices" "" "$(find "$WRITTEN/upper" -type c)"

# --- what the view shows --------------------------------------------------------------------------

stack_of () {
    layered "changes=$UPPER" "written=$WRITTEN/upper" "base=$BACK" |
        sed "/type cluster/a\\    ${1+option $*}"
}
mkdir -p "$UPPER"
stack_of wh-volumes written >"$VOL"
mount_volfile "$VOL" --entry-timeout=0 --negative-timeout=0
expect "the tree" "$written" "$(tree "$MNT")"
expect "the changes" "" "$(changes)"
expect_error "No such file" stat "$MNT/.wh.gone-file"
expect_error "No such file" stat "$MNT/anew/.wh..wh..opq"
expect_error "No such file" stat "$MNT/anew/old"
expect_error "No such file" stat "$MNT/gone/one"

# Changes of it: directories are emptied, renamed, made over whiteouts.
expect_error "No such file" rm "$MNT/plain/one"
expect_ok rm "$MNT/plain/two"
expect_ok rmdir "$MNT/plain" "$MNT/emptied"
expect_ok mv "$MNT/dir" "$MNT/renamed"
expect "a renamed directory" "one" "$(ls "$MNT/renamed/deep")"
expect_ok mv "$MNT/anew" "$MNT/gone"
expect "a directory over a whiteout" "deep made" "$(ls "$MNT/gone" | xargs)"
expect_ok mkdir "$MNT/anew"
expect "a new directory" "" "$(ls "$MNT/anew")"
echo ours >"$MNT/.wh.ours"
expect "a name of our own" ours "$(cat "$MNT/.wh.ours")"
expect "the changes then" "A..wh.ours D.emptied D.plain R.dir.renamed" \
    "$(overlay diff --name-status "$MNT" | tr '\t' . | grep -v 'anew\|gone' | sort | xargs)"
shown=$(tree "$MNT")
unmount
mount_volfile "$VOL"
expect "the tree in the next mount" "$shown" "$(tree "$MNT")"
expect_ok overlay discard "$MNT"
expect "the tree after a discard" "$written" "$(tree "$MNT")"
unmount

# Without the option they are names as others.
stack_of >"$VOL"
mount_volfile "$VOL"
expect "a whiteout without the option" ".wh.gone-file gone-file" \
    "$(cd "$MNT" && ls -d .wh.gone-file gone-file | xargs)"
unmount
for volume in changes base other; do
    stack_of wh-volumes written,$volume >"$VOL"
    expect_error "option 'wh-volumes' must name subvolumes between the first and the last one, got \
'$volume'" "$WINDLASS" -f "$VOL" -l refused.log "$MNT"
done
diff -r --no-dereference before "$BACK" || fail "the base has changed"
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
