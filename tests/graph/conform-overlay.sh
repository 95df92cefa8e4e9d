#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cluster/overlay with an empty lower passes what storage alone passes, in the kit in the process.
# longer
. "$(dirname "$0")/../mount/lib.sh"

mkdir -p "$TEST_DIR/changes"
cat >"$VOL" <<EOF_VOL
volume changes
    type storage/posix
    option directory "$TEST_DIR/changes"
end-volume
volume lower
    type storage/posix
    option directory "$BACK"
end-volume
volume overlay
    type cluster/overlay
    subvolumes changes lower
end-volume
EOF_VOL
# A device 0:0, which the cases of mknod make, would be a whiteout: mount/overlay/copy-up.
for cases in "$(amount 'in-process/straight/+([a-z_])' 'in-process/straight/!(mknod*)')" \
    'in-process/@(late|mixed)/+([a-z_])'; do
    "$WINDLASS" conform --in-process --case "$cases" "$VOL" >out 2>&1 || fail "$(tail -n 40 out)"
    expect_match "cases of $cases" '^[1-9][0-9]+ passed, 0 failed' "$(tail -n 1 out)"
done
