#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user floods the trash: the commands of others do not suffer from it.
# builds: release
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

chmod 755 "$TEST_DIR"
chmod 1777 "$BACK"
as () { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
for uid in 1234 1235; do
    install -d -o $uid -g $uid "$BACK/of$uid"
done
as 1234 mkdir -p -m 700 "$BACK/.Trash-1234"/{info,files}
stack features/trash,settle=1h
mount_volfile "$VOL"

# One goes on removing files. Another's commands are not late, nor incomplete.
as 1234 bash -c 'until [ -e "$2" ]; do : >"$1/x"; rm "$1/x"; done' - "$MNT/of1234" "$TEST_DIR/over" &
remover=$!
as 1235 touch "$MNT/of1235/file"
as 1235 rm "$MNT/of1235/file"
expect_ok as 1235 "$WINDLASS" trash list "$MNT"
expect_ok as 1235 "$WINDLASS" trash restore "$MNT" of1235/file
: >over
wait $remover
expect_ok as 1234 "$WINDLASS" trash empty "$MNT"
unmount

# All the numbers behind a name are taken.
stack features/trash,settle=50ms
mount_volfile "$VOL"
(cd "$BACK/.Trash-1234/info" && seq -f 'many.%.0f.trashinfo' 2 10001 | as 1234 xargs touch &&
    as 1234 touch many.trashinfo)
as 1234 touch "$MNT/of1234/many"
as 1234 rm "$MNT/of1234/many"
settled
expect "an entry of a name with many numbers" 1 "$(ls "$BACK/.Trash-1234/files" | wc -l)"
expect_ok as 1234 "$WINDLASS" trash restore "$MNT" of1234/many
rm "$BACK"/.Trash-1234/info/*
unmount
