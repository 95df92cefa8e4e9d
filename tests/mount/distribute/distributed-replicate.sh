#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A volume of glusterd that spreads its files over two sets of copies, mounted by its name: work
# goes on while a brick of each set is down, and is healed afterwards. GlusterFS's client sees the
# same.
# longer
. "$(dirname "$0")/../replicate/lib.sh"
need_command glusterd gluster glusterfs git
server=127.1.1.1
SETS=("r0 r1 r2" "r3 r4 r5")

glusterd_begin $server
expect_ok gluster_do volume create dr replica 3 $server:"$TEST_DIR"/r{0..5}.d force
expect_ok gluster_do volume set dr cluster.self-heal-daemon off
expect_ok gluster_do volume start dr
wait_until "volume_start $server:/dr '$MNT'"
graph=$("$WINDLASS" graph "$MNT")
expect "sets of copies" 2 "$(grep -c 'type cluster/replicate' <<<"$graph")"
expect_match "the graph" 'type cluster/distribute' "$graph"

# copies_there N: so many bricks are connected
copies_there () {
    [ "$(sed -n 's/^there = //p' "$MNT"/.meta/graphs/active/dr-replicate-*/private |
        grep -o dr-client | wc -l)" = "$1" ]
}
# sets_are_equal: the copies in each set
sets_are_equal () {
    local set
    for set in "${SETS[@]}"; do
        read -ra BRICKS <<<"$set"
        copies_are_equal || return 1
    done
}
all_marks () {
    marks r0 r1 r2 r3 r4 r5
}
# work NAME: files, directories, links, renames in a new directory
files=$(amount 16 40)
work () (
    mkdir -p "$MNT/$1/deep/deeper" && cd "$MNT/$1" || exit 1
    for i in $(seq "$files"); do echo "$1 $i" >"f$i" || exit 1; done
    for i in $(seq 1 3 "$files"); do mv "f$i" "g$i" || exit 1; done
    for i in $(seq 2 3 "$files"); do mv "f$i" "deep/h$i" || exit 1; done
    mv "f3" "f6" && rm "f9" && ln "f12" "deep/hard" && ln -s "../f12" deep/link &&
        mv deep/deeper moved && mkdir moved/more && mkdir gone && rmdir gone &&
        chmod 640 f12 && setfattr -n user.colour -v "$1" f12 deep &&
        seq 20000 >numbers && truncate -s 5000 numbers && echo end >>numbers &&
        cp -r "$SOURCE_DIR/src/core/base" core && tar cf base.tar core && mkdir out &&
        tar xf base.tar -C out && diff -r core out/core && rm -r core &&
        git init -q repository && cd repository && cp ../out/core/*.h . && git add . &&
        git -c user.name=n -c user.email=e commit -qm one && git fsck --strict
)
# tree DIR: what a client sees of all files
tree () (
    cd "$1" && find . -name '.meta' -prune -o -printf '%P %y %m %n %U:%G %l\n' | sort &&
        find . -type f -printf '%P %s\n' | sort &&
        find . -type f -print0 | sort -z | xargs -0 sha256sum
)

wait_until "copies_there 6"
expect_ok work before
wait_until "[ -z \"\$(all_marks)\" ]"
sets_are_equal || fail "copies differ"
for brick in r0 r3; do
    [ -n "$(find $brick.d/before -maxdepth 1 -type f -size +0)" ] || fail "$brick has no files"
done

# --- a brick of each set is down

for brick in r1 r5; do kill -9 "$(pgrep -f "glusterfsd.*$TEST_DIR/$brick.d")"; done
wait_until "copies_there 4"
expect_ok work while
echo changed >"$MNT/before/f12"
rm -r "$MNT/before/deep" "$MNT/before/out"
mv "$MNT/before/moved" "$MNT/while/from-before"
mv "$MNT/before/numbers" "$MNT/before/f15"
(cd "$MNT/before/repository" && git mv errors.h renamed.h &&
    git -c user.name=n -c user.email=e commit -qm two && git fsck --strict) >git.out 2>&1 ||
    fail "git: $(cat git.out)"
tree "$MNT" >tree.down

# --- they are back, and healed

find "$TEST_DIR" -name "*r[15].d.pid" -delete
expect_ok gluster_do volume start dr force
wait_until "copies_there 6"
tree "$MNT" >tree.back
expect_ok diff tree.down tree.back
end=$((SECONDS + 120))
while [ -n "$(all_marks)" ] && [ $SECONDS -lt $end ]; do
    for path in / $(all_marks | awk '{ print $2 }' | tr -d : | sort -u); do
        "$WINDLASS" heal "$MNT" "$path" >>heal.out 2>&1
    done
done
[ -z "$(all_marks)" ] || fail "marks are left: $(all_marks)"
for set in "${SETS[@]}"; do
    read -ra BRICKS <<<"$set"
    expect_equal_copies "after the heal"
done
# A file is in one of the sets: that the other does not have it is no failure.
file=$(cd "$MNT" && find . -type f -print -quit)
expect_match "a file in one set" '^dr-replicate-[01]: nothing to heal$' \
    "$("$WINDLASS" heal "$MNT" "$file")"
expect "a directory in both" 2 "$("$WINDLASS" heal "$MNT" / | grep -c '^dr-replicate-[01]: nothing')"
expect_error "'/none': no copy has a file of that name" "$WINDLASS" heal "$MNT" none
tree "$MNT" >tree.healed
expect_ok diff tree.down tree.healed
mkdir stock
glusterfs -s $server --volfile-id=dr -l "$TEST_DIR/stock.log" "$TEST_DIR/stock"
wait_until "mountpoint -q stock"
tree stock >tree.stock
expect_ok diff tree.down tree.stock
expect_ok work after
expect_ok rm -r "$MNT/before" "$MNT/while"
expect "what is left, for the other client" after "$(ls stock)"
umount stock
unmount
