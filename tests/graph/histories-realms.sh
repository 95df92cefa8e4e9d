#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories through realms: a subdirectory, other names below, one above the other, with
# translators on both sides that keep inodes and names.
# longer
. "$(dirname "$0")/histories-lib.sh"

sub=features/subdirectory
names=test/names
caches="performance/md-cache performance/readdir-ahead performance/quick-read"

run 61 -- $sub,path=/a/b
run 62 --faults 50 -- $names
run 63 -- $sub,path=/a/b $names $sub,path=/
# shellcheck disable=SC2086
run 64 -- $caches $sub,path=/a performance/write-behind $caches
run 65 --faults 50 -- $names $names performance/open-behind
run 66 -- features/trash,min-free=0 $sub,path=/a encryption/rot-13
