#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds for ppc64el with no warning, says that there is no function graph there, and works in an
# emulator without it.
# builds: release only
# long
# timeout: 1200
. "$(dirname "$0")/processor.sh"

processor_build ppc64el powerpc64le
grep -q "there is no function graph for powerpc64le-unknown-linux-gnu" configure.log ||
    fail "configure doesn't say that there is no function graph"
processor_mounts
processor_rotates
out=$($windlass trace start --function 'posix_*' "$TEST_DIR/mnt" 2>&1) &&
    fail "functions can be traced: $out"
grep -q "function graph" <<<"$out" || fail "the trace gives no reason: $out"
processor_conforms
