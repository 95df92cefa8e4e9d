#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The trash passes the kit through a mount, under the caches and over them, between two boundaries
# of realms, and in the layout of GlusterFS; with an audit on top.
# longer
. "$(dirname "$0")/lib.sh"
need_root
need_fuse

trash=features/trash,keep=ALL,copy=on,max-filesize=1GB
audit=features/audit,log-directory=$TEST_DIR/logs
sub=features/subdirectory,path=/1/2
caches="performance/write-behind performance/readdir-ahead performance/open-behind
    performance/quick-read performance/io-cache performance/nl-cache performance/md-cache"
mkdir "$TEST_DIR/logs"

# passes TYPES...: from the bottom up.
passes () {
    local who out
    stack "$@"
    sed -i 's/ALL/deleted,overwritten,truncated/' "$VOL"
    for who in $(amount root 'root user'); do
        out=$("$WINDLASS" conform --mount --as "$who" --directory "$TEST_DIR" --case "$cases" \
            "$VOL") || fail "$* as $who: $out"
        expect_match "$* as $who" '^[1-9][0-9]+ passed, 0 failed, ' "$out"
    done
}

cases=$(amount '@(data|directories|links|special|unlinked)/*' \
    '@(acl|attributes|data|directories|links|locks|mapped|permissions|privileges|rename|special|times|unlinked|xattrs)/*')
# shellcheck disable=SC2086
passes "$trash" $caches
[ -n "${TEST_LONG-}" ] || exit 0
# shellcheck disable=SC2086
passes $caches "$trash" "$audit"
passes performance/io-threads "$trash" "$audit" system/posix-acl
passes "$sub" "$trash" "$sub" "$audit"
passes features/trash,layout=gluster,trash=on "$audit"
