#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/trash, and features/audit on top of it, pass what storage alone passes in each position:
# over translators that answer on another thread or later, over and below the caches and the
# boundary of a realm. graph/orders has them in random orders among all others.
# longer
. "$(dirname "$0")/../mount/lib.sh"
need_command python3

trash=features/trash
audit=features/audit
caches=performance/write-behind,performance/readdir-ahead,performance/open-behind
caches+=,performance/quick-read,performance/io-cache,performance/nl-cache,performance/md-cache
stacks=("performance/io-threads,$trash,$audit" "$caches,$trash,$audit" "$trash,$caches"
    "features/subdirectory,$trash,features/subdirectory,$audit")
[ -z "${TEST_LONG-}" ] || stacks+=("$trash,$audit" "$trash,performance/io-threads,$audit"
    "$trash,features/subdirectory,$audit" "features/subdirectory,$trash,$audit"
    "debug/fault,features/utime,$trash,features/read-only,$audit,system/posix-acl")
for stack in "${stacks[@]}"; do
    "$SOURCE_DIR/tests/orders/run" --seed 1 --stack "$stack" --amount "$(amount little some)" \
        --parts in-process --dir "$TEST_DIR" || fail "$stack is not right"
done
