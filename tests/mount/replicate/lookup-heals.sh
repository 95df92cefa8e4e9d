#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# With metadata-self-heal and entry-self-heal, what is looked up is healed in the background. So are
# data with data-self-heal, at lookups and opens, or at opens alone; one good copy and one that is to
# be healed are enough.
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile metadata-self-heal=on entry-self-heal=on
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
mkdir "$MNT/directory"
echo text >"$MNT/file"
touch "$MNT/directory/removed"
setfattr -n user.old -v gone "$MNT/file"
setfattr -n user.old -v gone "$MNT/directory"
brick_kill c1
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: c1'"
chmod 600 "$MNT/file"
setfattr -n user.colour -v red "$MNT/file"
setfattr -x user.old "$MNT/file"
setfattr -x user.old "$MNT/directory"
rm "$MNT/directory/removed"
touch "$MNT/directory/made"
brick_start c1
wait_until "'$WINDLASS' explain '$MNT' | grep -q 'there: c0, c1, c2'"
wait_until "stat '$MNT/file' >/dev/null; [ \$(stat -c %a c1.d/file) = 600 ]"
wait_until "[ \"\$(getfattr --only-values -n user.colour c1.d/file 2>/dev/null)\" = red ]"
wait_until "stat '$MNT/directory' >/dev/null; [ \"\$(ls c1.d/directory)\" = made ]"
wait_until "stat '$MNT/directory' >/dev/null; no_marks"
expect "a removed attribute" "" "$(getfattr -m '^user.old' c1.d/file c1.d/directory)"
expect_equal_copies
unmount

# miss BRICK COMMAND...: the brick misses what COMMAND does; then it is there again.
explained_as () {
    wait_until "'$WINDLASS' explain '$MNT' | grep -q '$1'"
}
miss () {
    local brick=$1
    shift
    wait_until "! marks c0 | grep -q dirty"
    brick_kill "$brick"
    explained_as "not there: .*$brick"
    "$@"
    wait_until "! marks c0 | grep -q dirty"
    brick_start "$brick"
    wait_until "! '$WINDLASS' explain '$MNT' | grep -q 'not there: .*$brick'"
}
heals_begun () {
    sed -n 's/^heals-begun *= *//p' "$MNT/.meta/graphs/active/r/private"
}
rewrite () {
    echo "$2" >"$MNT/$1"
}

# At a lookup, on the copies that are there: c2 is not, and stays accused.
replicate_volfile data-self-heal=on
sed -i 's/quorum-type auto/quorum-type none/' "$VOL"
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
mkdir "$MNT/many"
for i in 1 2 3 4; do
    echo old >"$MNT/many/$i"
done
wait_until no_marks
brick_kill c2
explained_as 'not there: c2'
miss c1 rewrite file 'new, of two copies'
echo 'new, of two copies' >expected
wait_until "stat '$MNT/file' >/dev/null; cmp -s c1.d/file expected"
wait_until "stat '$MNT/file' >/dev/null; ! marks c0 c1 | grep -q afr.c1="
expect_match "the mark against the copy that is not there" 'afr.c2=' "$(marks c0 c1)"
brick_start c2
explained_as 'there: c0, c1, c2'
wait_until "stat '$MNT/file' >/dev/null; cmp -s c2.d/file expected && no_marks"

# background-self-heal-count bounds what runs at a time; with 0 nothing is healed.
rewrite_many () {
    for i in 1 2 3 4; do
        rewrite "many/$i" 'new content'
    done
}
miss c1 rewrite_many
ls -l "$MNT/many" >/dev/null
wait_until "stat '$MNT'/many/* >/dev/null; no_marks"
expect_equal_copies
unmount

# Objects beyond it wait, and are healed without a second look.
replicate_volfile data-self-heal=on background-self-heal-count=1
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
for i in 1 2 3 4; do
    echo old >"$MNT/many/$i"
done
miss c1 rewrite_many
cat "$MNT"/many/* >/dev/null
wait_until no_marks
expect_equal_copies
unmount

replicate_volfile data-self-heal=on background-self-heal-count=0
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
miss c1 rewrite file 'not healed'
cat "$MNT/file" >/dev/null
expect "heals, when none may run" 0 "$(heals_begun)"
expect_match "its marks" 'afr.c1=' "$(marks c0)"
unmount

# At an open alone.
replicate_volfile data-self-heal=open
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
stat "$MNT/file" >/dev/null
expect "heals after a lookup" 0 "$(heals_begun)"
echo 'not healed' >expected
wait_until "cat '$MNT/file' >/dev/null; cmp -s c1.d/file expected && no_marks"
expect_equal_copies
unmount
