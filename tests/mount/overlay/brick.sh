#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A lower on a brick of GlusterFS that is lost in the middle of a listing, a copy, an rmdir and a
# commit: that fails, is remembered nowhere and leaves nothing half, and works once the brick is
# back.
. "$(dirname "$0")/../brick/lib.sh"
UPPER=$TEST_DIR/changes
upper=$UPPER/layers/0

# The brick loses the connection with the next call of these: its numbers in GlusterFS's protocol.
MKNOD=3 RMDIR=6 RENAME=8 LINK=9 READ=12 WRITE=13 LOOKUP=27 READDIRP=40

brick one
relay one
brick_volfile one
mount_volfile "$VOL"
mkdir "$MNT/merged" "$MNT/many"
echo lower >"$MNT/file"
echo gone >"$MNT/removed"
echo file >"$MNT/replaced"
echo in >"$MNT/merged/in"
head -c 3000000 /dev/urandom >"$MNT/big"
touch "$MNT"/many/{1..40}
unmount
overlay_on one
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0 --negative-timeout=0
connected () {
    wait_until 'stat "$MNT/file" >/dev/null 2>&1'
}

# lost CALL COMMAND...: the command fails since the brick is lost at this call of its.
lost () {
    tell_client close "$1"
    expect_error "not connected" "${@:2}"
    connected
}

changed () {
    "$WINDLASS" overlay diff --name-status "$MNT" | sort | xargs
}

work_is_clean () {
    [ "$(ls -A "$UPPER/work" | xargs)" = "index lock records" ]
}

# A look-up and a listing.
lost $LOOKUP stat "$MNT/many/7"
expect_ok stat "$MNT/many/7"
lost $READDIRP ls "$MNT/many"
expect "the listing afterwards" 40 "$(ls "$MNT/many" | wc -l)"

# A copy: the file stays what it was.
lost $READ bash -c 'echo more >>"$0"' "$MNT/big"
wait_until work_is_clean
expect "what the copy left" "" "$(find "$upper" -type f)"
cmp one.d/big "$MNT/big" || fail "the file has other bytes after a copy that failed"
expect_ok bash -c 'echo more >>"$0"' "$MNT/big"
expect "the copy" "$( (cat one.d/big; echo more) | sha256sum)" "$(sha256sum <"$MNT/big")"

# The removal of a directory that may have more names there.
rm "$MNT/merged/in"
lost $READDIRP rmdir "$MNT/merged"
[ -d "$MNT/merged" ] || fail "a directory is gone, although it could not be looked at"
expect_ok rmdir "$MNT/merged"

# A name can't be made while it is not known whether it is there.
lost $LOOKUP mkdir "$MNT/removed"
rm "$MNT/removed"
expect "the changes" "D merged D removed M big" "$(changed)"

# An apply.
echo one >>"$MNT/file"
echo two >"$MNT/second"
for call in $MKNOD $WRITE $LINK; do
    lost "$call" "$WINDLASS" overlay apply "$MNT" file second
    expect "the view" "lower one two" "$(cat "$MNT/file" "$MNT/second" | xargs)"
done
expect_ok "$WINDLASS" overlay apply "$MNT" file second
expect "the base" "lower one two" "$(cat one.d/file one.d/second | xargs)"
expect "temporary names that are left" "" "$(find one.d -name '.windlass*')"

# A directory takes the place of a file, which is gone by then: names can't be exchanged there.
rm "$MNT/replaced"
mkdir "$MNT/replaced"
lost $RENAME "$WINDLASS" overlay apply "$MNT" replaced
[ -d "$MNT/replaced" ] || fail "the view has lost a directory"
expect_ok "$WINDLASS" overlay apply "$MNT" replaced
[ -d one.d/replaced ] || fail "the base lacks the directory"

# A commit goes on where it was.
mkdir "$MNT/new"
echo new >"$MNT/new/file"
for call in $MKNOD $WRITE $RENAME $RMDIR; do
    lost "$call" "$WINDLASS" overlay commit "$MNT"
    expect "the view" "new" "$(cat "$MNT/new/file")"
    [ ! -e "$MNT/merged" ] || fail "a directory that was removed is there again"
done
expect_ok "$WINDLASS" overlay commit "$MNT"
expect "what is left to commit" "" "$(changed)"
expect "the base" "big file many new replaced second" "$(ls one.d | xargs)"
expect "a file of the base" new "$(cat one.d/new/file)"
expect "the changed file" "$(sha256sum <"$MNT/big")" "$(sha256sum <one.d/big)"
unmount
