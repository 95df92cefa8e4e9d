#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Calls go into running functions and out again, 1,000 times, with threads in them: for this
# processor, with each kind of entry, and for AArch64 in qemu.
set -u
cd "$TEST_DIR" || exit 1
functions=$SOURCE_DIR/src/trace/functions
sources="$SOURCE_DIR/tests/unit/programs/patched.c $functions/patch.c $functions/patch-x86.c
    $functions/patch-arm64.c $functions/hook-x86.S $functions/hook-arm64.S"
usual="-std=gnu11 -D_GNU_SOURCE -DHAVE_FUNCTION_GRAPH=1 -I$SOURCE_DIR/src -fno-omit-frame-pointer
    -fno-optimize-sibling-calls -pthread -Wall"
tried=''

# try NAME COMPILER RUN FLAGS: what is traced has those flags; the rest has room nowhere.
try () {
    local name=$1 compiler=$2 run=$3 flags=$4 out status
    # shellcheck disable=SC2086
    $compiler $usual -O2 -mgeneral-regs-only -c -o hook.o \
        "$SOURCE_DIR/src/trace/functions/hook.c" || exit 1
    # shellcheck disable=SC2086
    for source in ${sources#* }; do $compiler $usual -O2 -c -o "${source##*/}.o" "$source" ||
        exit 1; done
    # shellcheck disable=SC2086
    $compiler $usual $flags -c -o patched.o "${sources%% *}" &&
        $compiler -pthread ${5-} -o patched patched.o hook.o ./*.[cS].o || exit 1
    # shellcheck disable=SC2086
    out=$($run ./patched "${6-1000}" 2>&1)
    status=$?
    [ $status != 77 ] || { echo "$out"; return; }
    [ $status = 0 ] || { echo "$name: exit status $status: $out"; exit 1; }
    echo "$name: $out"
    tried="$tried $name"
}

if ! command -v gcc >/dev/null; then
    echo "needs gcc"
    exit 77
fi
case $(uname -m) in
    x86_64)
        try nops gcc '' '-O2 -fpatchable-function-entry=7,5 -fcf-protection=none'
        # What configure's flags become with a packager's CFLAGS behind them.
        try both gcc '' '-O2 -fpatchable-function-entry=7,5 -fcf-protection=none -fcf-protection'
        try endbr64 gcc '' \
            '-O0 -fpatchable-function-entry=5,5 -fcf-protection=branch -falign-functions=16' ;;
    aarch64) try arm64 gcc '' '-O2 -fpatchable-function-entry=3,2' ;;
esac
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
    try arm64-qemu aarch64-linux-gnu-gcc qemu-aarch64 '-O2 -fpatchable-function-entry=3,2' -static \
        100
    try arm64-qemu-bti aarch64-linux-gnu-gcc qemu-aarch64 \
        '-O0 -fpatchable-function-entry=3,2 -mbranch-protection=standard' -static 100
fi
[ -n "$tried" ] ||
    { echo "needs a processor or qemu-aarch64 that it is there for, and membarrier(2)"; exit 77; }
