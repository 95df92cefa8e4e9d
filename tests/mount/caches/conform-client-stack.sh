#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The client's stack passes the kit through a mount: all themes but the two long ones, and offsets
# and paths, where caches may be wrong. As a user it runs the themes that depend on the caller.
# longer
. "$(dirname "$0")/../lib.sh"
need_root
need_fuse

run () { # WHO CASES
    out=$("$WINDLASS" conform --mount --as "$1" --directory "$TEST_DIR" --case "$2" \
        "$SOURCE_DIR/volfiles/client-stack.vol") || fail "as $1: $out"
    expect_match "as $1" '^[1-9][0-9]+ passed, 0 failed, ' "$out"
}

[ -n "${TEST_LONG-}" ] || { run root '@(acl|data|links|locks|special|unlinked)/*'; exit; }
run root \
    '@(acl|attributes|concurrent|data|directories|links|locks|mapped|permissions|privileges|rename|special|times|unlinked|xattrs)/*'
run root 'paths/@(opendir|rename|stat|truncate): *'
run user '@(acl|privileges|times|xattrs)/*'
run user 'paths/@(open|opendir|stat)*: *directory*'
