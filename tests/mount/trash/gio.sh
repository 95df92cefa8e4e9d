#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# gio, as file managers do, lists and restores what rm removed in a mount, and what it has put into
# the trash itself; windlass trash restores that, too.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need_command gio dbus-run-session
[ -x /usr/libexec/gvfsd-trash ] || skip "needs gvfsd-trash of gvfs"

stack features/trash,settle=1h
mount_volfile "$VOL"
umask 022
mkdir -p "$MNT/tree/deep" "$TEST_DIR/home" "$TEST_DIR/run"
chmod 700 "$TEST_DIR/run"
echo deep >"$MNT/tree/deep/file"
echo odd >"$MNT/100% of it"
echo plain >"$MNT/plain"
rm -r "$MNT/tree"
rm "$MNT/100% of it"
expect_ok gio trash "$MNT/plain"
asked

# A session of its own, with a fresh gvfsd-trash.
session () {
    env MNT="$MNT" HOME="$TEST_DIR/home" XDG_DATA_HOME="$TEST_DIR/home" XDG_RUNTIME_DIR="$TEST_DIR/run" \
        dbus-run-session -- "$@" 2>"$TEST_DIR/session.log"
}
session gio trash --list >/dev/null || ! grep -q 'not supported' session.log || skip "needs gvfs"
expect "gio trash --list" "100% of it plain tree" \
    "$(session gio trash --list | sed -n "s|^.*\t$MNT/||p" | sort | xargs)"
cat >restore.sh <<'EOF2' # the machine may have other trashes
gio trash --list | grep -F "$MNT/" | cut -f1 | while read -r uri; do
    gio trash --restore "$uri" || echo "not restored: $uri"
done
EOF2
expect "restoring" "" "$(session bash restore.sh)"
expect "restored" "deep odd plain" \
    "$(cat "$MNT/tree/deep/file" "$MNT/100% of it" "$MNT/plain" | xargs)"
expect "what is left" "" "$(ls "$MNT/.Trash-0/files" "$MNT/.Trash-0/info" | grep -v : | xargs)"

# What gio has put there.
mkdir "$MNT/folder"
for name in $'new\nline' $'bad\xff' '100%'; do
    echo "$name" >"$MNT/folder/$name"
    expect_ok gio trash "$MNT/folder/$name"
done
expect_ok gio trash "$MNT/plain"
expect "windlass trash list" 'folder/100%|folder/bad\xff|folder/new\x0aline|plain|' \
    "$("$WINDLASS" trash list "$MNT" | cut -c 35- | cut -f 1 | sort | tr '\n' '|')"
expect "restore" "restored 4 entries" "$("$WINDLASS" trash restore "$MNT" /)"
for name in $'new\nline' $'bad\xff' '100%'; do
    expect "its text" "$name" "$(cat "$MNT/folder/$name")"
done
expect "its text" plain "$(cat "$MNT/plain")"
unmount
