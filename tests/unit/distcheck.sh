#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `make distcheck`, as an ordinary user: from the tarball, in a source folder that cannot be written,
# the program is built, tested, installed and uninstalled, and nothing remains. unit/tarball looks
# that the tarball lacks no file.
# builds: release only
# long
# timeout: 3600
. "$(dirname "$0")/../mount/lib.sh"
need_command make xz

# The user who builds, and can read the sources.
as=''
if [ "$(id -u)" = 0 ]; then
    user test -r "$SOURCE_DIR/configure.ac" || skip "needs sources that another user may read"
    as=user
fi
# make_variable NAME: of the build that is tested.
make_variable () {
    sed -n "s/^$1 = //p" "$BUILD_DIR/Makefile"
}
libfuse=$(make_variable with_libfuse)
compiler=$(make_variable CC)
mkdir build
[ -z "$as" ] || chown 65534 build
chmod 755 "$TEST_DIR"
cd build || exit 1

# Another user's cache of compilations can be read at best. The tarball may be larger.
export CCACHE_READONLY=1 CCACHE_TEMPDIR=$PWD/tmp XZ_OPT=-1 HOME=$PWD
$as "$SOURCE_DIR/configure" CC="$compiler" ${libfuse:+"--with-libfuse=$libfuse"} \
    >configure.log 2>&1 || fail "configure: $(tail -n 20 configure.log)"
$as make -j"$(nproc)" distcheck >"$TEST_DIR/log" 2>&1 ||
    fail "make distcheck: $(grep -vE '^  (CC|CCLD|GEN) ' "$TEST_DIR/log" | tail -n 40)"
expect_match "the tests of make distcheck" '^[1-9][0-9]* passed, 0 failed' "$(cat "$TEST_DIR/log")"

expect_match "the end" "^$(basename windlass-*.tar.xz .tar.xz) archives ready for distribution" "$(tail -n 4 "$TEST_DIR/log")"
