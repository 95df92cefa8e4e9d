#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each translator passes what storage alone passes: alone, twice in one stack, in the client stack,
# and in ten orders that the declared needs allow. That is a part of the kit in the process, and
# histories with and without errors of storage. `make orders` does much more of it, for hours.
# timeout: 600
# long
. "$(dirname "$0")/../mount/lib.sh"
need_command python3

"$SOURCE_DIR/tests/orders/run" --seed 1 --amount some --histories 20 --mounts 10 --dir \
    "$TEST_DIR" || fail "a translator isn't right everywhere"
