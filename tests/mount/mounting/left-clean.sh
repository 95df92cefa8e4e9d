#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The directory is left as it was: the mount adds neither files nor attributes, and changes no
# times.
. "$(dirname "$0")/../lib.sh"
need_command getfattr

# All of it but for access times.
describe () {
    find "$BACK" -printf '%P %M %U %G %n %s %T@ %C@ %l\n' | sort
    find "$BACK" -print0 | sort -z | xargs -0 getfattr -hd -m - --absolute-names
}

mkdir -p "$BACK/dir/sub"
echo text >"$BACK/dir/file"
ln "$BACK/dir/file" "$BACK/name"
ln -s dir/file "$BACK/link"
setfattr -n user.mine -v yes "$BACK/name"
describe >before

for options in handles=auto handles=descriptor; do
    POSIX_OPTIONS=$options stack
    mount_volfile "$VOL"
    find "$MNT" -ls >/dev/null
    cat "$MNT/dir/file" "$MNT/link" >/dev/null
    df "$MNT" >/dev/null
    getfattr -Rhd -m - --absolute-names "$MNT" >/dev/null
    unmount
    expect "the directory after it was read" "$(cat before)" "$(describe)"
done

# What is made by hand and through a mount differs in nothing.
mkdir expected
for dir in "$MNT" expected; do
    [ "$dir" = expected ] || mount_volfile "$VOL"
    mkdir "$dir/d"
    echo x >"$dir/d/f"
    ln -s f "$dir/d/l"
    [ "$dir" = expected ] || unmount
done
expect "what was made" \
    "$(cd expected/d && find . -printf '%P %M %U %G %s %b %l\n' | sort; getfattr -Rd -m - .)" \
    "$(cd "$BACK/d" && find . -printf '%P %M %U %G %s %b %l\n' | sort; getfattr -Rd -m - .)"
