# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests of packaging/.
#
#   recipe_tarball             makes windlass-VERSION.tar.xz in the current folder, and sets $version
#   recipe_works ROOT LIBDIR   the program that was packed there is that version, loads its
#                              translators, and has the names of their functions for windlass trace

. "$(dirname "$0")/../mount/lib.sh"

# With the compiler of the build that is tested, which may have a cache.
CC=$(sed -n 's/^CC = //p' "$BUILD_DIR/Makefile")
MAKEFLAGS=-j$(nproc)
export CC MAKEFLAGS

recipe_tarball () {
    # Not beside that of another test: both would write the same.
    XZ_OPT=-1 flock "$BUILD_DIR/Makefile" sh -c \
        'make -C "$1" dist && cp "$1"/windlass-*.tar.xz .' sh "$BUILD_DIR" >dist.log 2>&1 ||
        fail "make dist: $(tail dist.log)"
    version=$(basename windlass-*.tar.xz .tar.xz)
    version=${version#windlass-}
}

recipe_works () {
    local root=$1 libdir=$2
    expect_match "the manual" '/windlass\.1(\.[a-z0-9]*)?$' "$(
        find "$root/usr/share/man/man1" -size +0)"
    expect_match "the version" "^windlass $version\$" "$("$root/usr/bin/windlass" --version)"
    expect_match "how it is built" '^build: optimized, without sanitizers$' \
        "$("$root/usr/bin/windlass" --version)"
    sed "s|/srv/export|$BACK|" "$SOURCE_DIR/volfiles/rot-13.vol" >recipe.vol
    expect_ok env -u WINDLASS_XLATOR_PATH "$root/usr/bin/windlass" check \
        --xlator-dir="$root$libdir/windlass/xlator" recipe.vol
    expect_match "the names of functions" ' t rot13_writev$' \
        "$(nm "$root$libdir/windlass/xlator/encryption/rot-13.so")"
}
