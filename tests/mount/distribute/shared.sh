#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A mount of ours and one of GlusterFS's own client work on the same volume of four bricks, by
# turns: random operations, each also done on a bare directory, have the same results, and leave the
# same tree. The bricks have what GlusterFS expects there: every directory with a range, linktos
# that lead to their files.
# longer
# timeout: 600
. "$(dirname "$0")/../brick/lib.sh"
need_command glusterfs

for name in a b c d; do
    brick $name
done
distribute_volfile "$VOL" a b c d
mkdir stock bare
# Its kernel would keep the content of a file that ours writes within the same tick of the clock.
glusterfs -f "$VOL" -l "$TEST_DIR/stock.log" --entry-timeout=0 --attribute-timeout=0 \
    --negative-timeout=0 --fopen-keep-cache=off \
    "$TEST_DIR/stock" || fail "the stock client does not mount"
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0

seed=${SEED-$(amount 21 $RANDOM)}
count=$(amount 2000 10000)
out=$(python3 "$SOURCE_DIR/tests/mount/distribute/distribute.py" $seed $count bare a.d,b.d,c.d,d.d "$MNT" stock 2>&1) ||
    fail "seed $seed: $out"
echo "seed $seed: $count operations"

python3 "$SOURCE_DIR/tests/mount/distribute/bricks.py" {a,b,c,d}.d ||
    fail "seed $seed: see above"
umount stock
