#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# With --exclusive the kernel asks for nothing twice, and sees all that changes through the mount.
. "$(dirname "$0")/../lib.sh"

stack
sed -i 's|type storage/posix|&\n    option log-level TRACE|' "$VOL"
# asked: how often storage was asked anything so far
asked () {
    grep -c -- '-> posix' "$LOG"
}

mkdir "$BACK/dir"
echo old >"$BACK/dir/file"
mount_volfile "$VOL" --exclusive
look () {
    cat "$MNT/dir/file"
    ls "$MNT/dir"
    stat -c '%n %s %a' "$MNT/dir/file" "$MNT/dir"
    [ -e "$MNT/dir/none" ] && echo "there is one"
}
first=$(look)
look >/dev/null
exec 5<"$MNT/dir" # closing tells storage late
before=$(asked)
expect "what is seen again" "$first" "$(look)"
expect_no_match "what storage was asked to see it again" \
    ' (lookup|stat|fstat|readv|readdirp|readdir|getxattr) ' \
    "$(grep -- '-> posix' "$LOG" | tail -n +"$((before + 1))")"

# The promise is broken: that isn't seen.
echo new >"$BACK/dir/file"
echo more >"$BACK/dir/none"
expect "what is seen of a change behind" "$first" "$(look)"
rm "$BACK/dir/none"

# What the mount does is seen at once.
echo through >"$MNT/dir/file"
expect "what was written" through "$(cat "$MNT/dir/file")"
echo again >>"$MNT/dir/file"
expect "what was appended" $'through\nagain' "$(cat "$MNT/dir/file")"
echo one >"$MNT/dir/none"
expect "a new name" one "$(cat "$MNT/dir/none")"
expect "the names" $'file\nnone' "$(ls "$MNT/dir")"
ln "$MNT/dir/none" "$MNT/dir/two"
expect "links" 2 "$(stat -c %h "$MNT/dir/none")"
mv "$MNT/dir/two" "$MNT/dir/three"
rm "$MNT/dir/none"
expect "the names" $'file\nthree' "$(ls "$MNT/dir")"
expect "links" 1 "$(stat -c %h "$MNT/dir/three")"
expect_error 'No such file' cat "$MNT/dir/none"
chmod 640 "$MNT/dir/three"
truncate -s 2 "$MNT/dir/three"
expect "the rest" "640 2 on" "$(stat -c '%a %s' "$MNT/dir/three") $(cat "$MNT/dir/three")"
expect "the same behind" "$(stat -c '%a %s %h %Y' "$BACK"/dir/*)" \
    "$(stat -c '%a %s %h %Y' "$MNT"/dir/*)"
exec 5<&-
unmount

# What is set explicitly stands.
mount_volfile "$VOL" --exclusive --negative-timeout=0
[ ! -e "$MNT/dir/late" ] || fail "there is a file"
touch "$BACK/dir/late"
[ -e "$MNT/dir/late" ] || fail "a name that was missing is remembered against --negative-timeout=0"
