#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# trash-cli lists and restores what rm removed in a mount, and windlass trash what trash-cli has put
# into the trash.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command trash-list trash-restore trash-put
version=$(trash-list --version)
[ "$(printf '%s\n' 0.22 "${version##* }" | sort -V | head -n 1)" != 0.22 ] ||
    skip "needs a trash-cli before 0.22, which looks at mounts of all types: features-trash(7)"

stack features/trash,settle=1h
mount_volfile "$VOL"
umask 022

mkdir -p "$MNT/tree/deep/deeper" "$MNT/odd"
echo text >"$MNT/tree/deep/deeper/file"
echo text >"$MNT/file"
echo odd >"$MNT/odd/"'100% of "it"'
rm -r "$MNT/tree"
rm "$MNT/file" "$MNT/odd/"*
trash-put "$MNT/odd" || fail "trash-put can't"
asked

# trash-cli: all volumes of /proc/mounts.
listed () { trash-list | sed -n "s|^....-..-.. ..:..:.. $MNT/||p" | sort | xargs -d '\n' -n1; }
expect "trash-list" "$(printf '%s\n' file odd 'odd/100% of "it"' tree | sort)" "$(listed)"

# restore FILE: answers trash-restore's question for a number.
restore () {
    local number
    number=$(cd "$MNT" && echo | trash-restore / 2>/dev/null | sed -n "s|^ *\([0-9]*\) ....-..-.. ..:..:.. $MNT/$1\$|\1|p")
    (cd "$MNT" && echo "$number" | trash-restore / >/dev/null) || fail "trash-restore $1"
}
restore tree
expect "a restored tree" text "$(cat "$MNT/tree/deep/deeper/file")"
restore odd
restore 'odd/100% of "it"'
expect "a restored file" odd "$(cat "$MNT/odd/"'100% of "it"')"
expect "trash-list afterwards" file "$(listed)"

# What trash-cli has put there.
mkdir "$MNT/odd/below"
touch "$MNT/odd/below/file"
for name in $'new\nline' '100%' "$(printf 'é%.0s' {1..115})"; do
    echo "$name" >"$MNT/odd/$name"
    trash-put "$MNT/odd/$name" || fail "trash-put can't"
done
trash-put "$MNT/odd/below" || fail "trash-put can't"
ours () { "$WINDLASS" trash list "$MNT" | cut -c 35- | cut -f 1 | sort | tr '\n' '|'; }
expect "windlass trash list" \
    "file|odd/100%|odd/below/|odd/new\x0aline|odd/$(printf 'é%.0s' {1..115})|" "$(ours)"
expect "restore" "restored 4 entries" "$("$WINDLASS" trash restore "$MNT" odd)"
for name in $'new\nline' '100%' "$(printf 'é%.0s' {1..115})"; do
    expect "its text" "$name" "$(cat "$MNT/odd/$name")"
done
[ -e "$MNT/odd/below/file" ] || fail "a tree is not restored"
expect "trash-list" file "$(listed)"

trash-put "$MNT/tree"
trash-empty >/dev/null </dev/null
asked
expect "trash-empty" "" "$(listed)"
unmount
