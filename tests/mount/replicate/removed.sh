#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A file is changed while another client removes it, and most copies have it no longer: the change
# fails with ENOENT.
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile
mount_volfile "$VOL" --attribute-timeout=600 --entry-timeout=600

# removed_from BRICK NAME: what an unlink by another client does there.
removed_from () {
    local gfid
    gfid=$(getfattr -n trusted.gfid -e hex "$1.d/$2" | sed -n 's/^trusted.gfid=0x//p')
    rm "$1.d/$2" "$1.d/.glusterfs/${gfid:0:2}/${gfid:2:2}/"*"${gfid:20}"
}

change () {
    python3 - "$@" <<'END'
import os, sys
kind, path = sys.argv[1:]
{ "chmod": lambda: os.chmod(path, 0o600),
  "setxattr": lambda: os.setxattr(path, "user.x", b"x"),
  "truncate": lambda: os.truncate(path, 1),
  "link": lambda: os.link(path, path + "-link") }[kind]()
END
}

for kind in chmod setxattr truncate link; do
    echo content >"$MNT/$kind"
    wait_until "! marks | grep -q ': $kind:'"
    removed_from c1 "$kind"
    removed_from c2 "$kind"
    expect_error "FileNotFoundError" change "$kind" "$MNT/$kind"
done
unmount
