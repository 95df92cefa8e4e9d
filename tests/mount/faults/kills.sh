#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A daemon that is killed under load (kill -9), again and again, loses nothing that was confirmed,
# and can be mounted each time, also where a translator holds writes back: a close waits for them.
# Where storage itself is wrong, the check must see it, or it would see nothing anywhere.
# timeout: 900
# longer
. "$(dirname "$0")/../lib.sh"
need_root
export KEEPER=$BUILD_DIR/tests/soak/keeper
kills=$SOURCE_DIR/tests/soak/kills
seed=$(amount 20261121 $RANDOM) times=$(amount 5 300)

out=$("$kills" --seed $seed "$times" 2>&1) || fail "$out"
expect_match "the summary" "^$times kills .* 0 times something confirmed was lost\$" "$out"
out=$(CONFIRMED=synced "$kills" --seed $seed "$times" '' --kernel-writeback-cache=on 2>&1) ||
    fail "with the writeback cache: $out"

# Storage is slow, so that hardly ever nothing is held back.
stack debug/delay-gen,enable=writev,delay-percentage=100%,delay-duration=5000 \
    performance/write-behind,flush-behind=on,trickling-writes=off
out=$("$kills" --seed $seed $((times * 2)) "$VOL" 2>&1) || fail "with write-behind: $out"

echo 'writev -> flip' >rules
stack "debug/fault,seed=1,rules=$TEST_DIR/rules"
out=$("$kills" --seed $seed 5 "$VOL" 2>&1)
expect_match "what storage has wrong is found" 'files wrong' "$out"
