#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# While nothing is traced, the function graph leaves only instructions that do nothing in the
# program and its translators: at the entry of functions nops, or endbr64, and no call of anything
# that traces.
set -u
if ! grep -q '^#define HAVE_FUNCTION_GRAPH 1' "$BUILD_DIR/config.h"; then
    echo "needs a build with the function graph"
    exit 77
fi
if ! command -v objdump >/dev/null; then
    echo "needs objdump"
    exit 77
fi
status=0

# entries FILE FUNCTION...: each is there, and begins so.
entries () {
    local file=$1 name code first
    shift
    for name in "$@"; do
        code=$(objdump -d --no-show-raw-insn "$file" |
            awk -v name="<$name>:" \
            '$2 == name { on = 1; next } on && (n++ == 3) { exit } on { print $2 }')
        first=$(head -n 2 <<<"$code" | tr '\n' ' ')
        case $first in
            'nop nop ' | 'endbr64 '* | 'nop '*) ;;
            *) echo "$file: $name begins with: $first"; status=1 ;;
        esac
    done
}
case $(uname -m) in x86_64 | aarch64) ;; *) echo "needs a processor that it is there for"; exit \
    77 ;; esac
entries "$BUILD_DIR/src/windlass" fuse_write stack_new graph_load control_dispatch
entries "$BUILD_DIR/xlators/storage/posix.so" posix_writev posix_lookup
entries "$BUILD_DIR/xlators/encryption/rot-13.so" rot13_writev rot13_writev_cbk
# Only the rooms could call the hooks, and in a file they are empty.
if objdump -d --no-show-raw-insn "$BUILD_DIR/src/windlass" |
    grep -E '(call|bl) .*<(hook_entry|__fentry__|mcount)>'; then
    echo "something calls a hook"
    status=1
fi
exit $status
