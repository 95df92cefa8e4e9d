#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/trash, and features/audit on top of it, pass what storage alone passes in each position:
# over translators that answer on another thread, over and below the caches and the boundary of a
# realm. graph/orders has them in random orders among all others.
# longer
. "$(dirname "$0")/../mount/lib.sh"

trash=features/trash,keep=ALL
audit=features/audit,log-directory=$TEST_DIR/logs
mkdir "$TEST_DIR/logs"
sub=features/subdirectory,path=/1/2
caches="performance/write-behind performance/readdir-ahead performance/open-behind
    performance/quick-read performance/io-cache performance/nl-cache performance/md-cache"
names='@(lookup|mknod|unlink|rmdir|rename|link|create|readdirp)'

# passes CASES TYPES...: from the bottom up.
passes () {
    local cases=$1
    shift
    BACK=/nowhere stack "$@"
    sed -i 's/ALL/deleted,overwritten,truncated/' "$VOL"
    "$WINDLASS" conform --in-process --case "$cases" "$VOL" >out 2>&1 ||
        fail "$* is not right: $(tail -n 40 out)"
    expect_match "cases of $*" '^[1-9][0-9]* passed, 0 failed' "$(tail -n 1 out)"
}

# positions CASES
positions () {
    passes "$1" performance/io-threads "$trash" "$audit"
    # shellcheck disable=SC2086
    passes "$1" $caches "$trash" "$audit"
    # shellcheck disable=SC2086
    passes "$1" "$trash" $caches
    passes "$1" "$sub" "$trash" "$sub" "$audit"
    passes "$1" debug/fault features/utime features/trash,layout=gluster,trash=on \
        features/read-only,read-only=off "$audit" system/posix-acl
}

positions "in-process/@(straight|mixed)/$(amount "$names" '+([a-z_])')"
