#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Realms pass what storage alone passes, in the kit in the process and through a mount: a directory
# of the volume, names that differ below, and both with translators that keep inodes on either side.
# graph/orders has them among all others; graph/histories-realms has the histories.
# longer
. "$(dirname "$0")/../mount/lib.sh"
need_command python3
need_fuse

sub=features/subdirectory
names=test/names
for stack in $sub "$names" "$names,performance/md-cache,$sub,performance/quick-read" "$sub,$sub"; do
    "$SOURCE_DIR/tests/orders/run" --seed 1 --stack "$stack" --amount "$(amount little some)" \
        --parts in-process,mount --mounts 1 --dir "$TEST_DIR" || fail "$stack is not right"
done
