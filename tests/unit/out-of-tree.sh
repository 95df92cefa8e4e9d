#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A translator from another source tree is built with the installed headers, and is found in the
# folder of --xlator-dir. gdb finds the installed commands. The installed program looks for no
# library in a folder of the build. make uninstall removes all of it, and may be repeated.
set -eu
fail () {
    echo "$*"
    exit 1
}
cd "$TEST_DIR"
command -v make >/dev/null || { echo "needs make"; exit 77; }
# Not beside the make install of another test: both would link the same.
flock "$BUILD_DIR/Makefile" make -C "$BUILD_DIR" install DESTDIR="$TEST_DIR/root" >install.log 2>&1 ||
    { cat install.log; exit 1; }

pc=$(find root -name windlass.pc)
[ -n "$pc" ] || fail "no windlass.pc was installed"
PKG_CONFIG_PATH=$PWD/$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$PWD/root \
    pkg-config --cflags windlass >flags || fail "pkg-config does not know windlass"
# The sysroot is put before glib's folders, too, which are not in it.
sed -i "s|-I$PWD/root\(/usr/[^ ]*glib\)|-I\1|g" flags

mkdir -p mine/custom
cat >calm.c <<'END'
#include "xlator.h"

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "custom/calm",
    .about = "passes everything on",
    .children = { .min = 1, .max = 1 },
};
END
# shellcheck disable=SC2046
cc $(cat flags) -Wall -Werror -shared -fPIC -o mine/custom/calm.so calm.c
cat >calm.vol <<END
volume posix
    type storage/posix
    option directory $TEST_DIR
end-volume
volume calm
    type custom/calm
    subvolumes posix
end-volume
END
program=$(find root -name windlass -type f -perm -u+x | grep bin/)
modules=$(find "$PWD/root" -path '*/windlass/xlator' -type d)
paths=$(readelf -d "$program" | sed -n 's/.*(R.*PATH).*\[\(.*\)\]/\1/p')
[ -z "$paths" ] || [ "$paths/xlator" = "${modules#"$PWD/root"}" ] ||
    fail "the installed program looks for libraries in '$paths'"
# Until it is moved to where it is installed, it finds a private libfuse only if told.
export LD_LIBRARY_PATH=${modules%/xlator}
unset WINDLASS_XLATOR_PATH
"$program" check --xlator-dir "$modules" --xlator-dir mine calm.vol
WINDLASS_XLATOR_PATH=$modules:mine "$program" check calm.vol
if "$program" check --xlator-dir "$modules" calm.vol 2>errors; then
    fail "custom/calm was found, though nobody said where it is"
fi
grep -q "custom/calm" errors || fail "the message doesn't name the type: $(cat errors)"

# gdb finds the commands of a program in another prefix than its own: it says how to allow them, and
# then has them.
gdb_finds () {
    local loader
    gdb -nx -batch -ex 'help xl' "$program" >gdb.out 2>&1 || true
    loader=$(find "$PWD/root" -name windlass-gdb.py -type f)
    grep -q "auto-loading has been declined" gdb.out && grep -q "add-auto-load-safe-path $loader" \
        gdb.out || fail "gdb says nothing of the commands: $(cat gdb.out)"
    gdb -nx -batch -iex "add-auto-load-safe-path $loader" -ex 'help xl' "$program" >gdb.out 2>&1 ||
        true
    grep -q '^xl graph -- ' gdb.out ||
        fail "gdb has no commands, though they are allowed: $(cat gdb.out)"
}
if command -v gdb >/dev/null; then gdb_finds; fi

for time in first second; do
    make -C "$BUILD_DIR" uninstall DESTDIR="$TEST_DIR/root" >install.log 2>&1 ||
        { cat install.log; fail "the $time make uninstall failed"; }
done
left=$(find root -name '*windlass*' -o ! -type d)
[ -z "$left" ] || fail "this is left by uninstall: $left"
