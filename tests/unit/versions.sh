#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# All that names the version of Windlass names the one of configure.ac: the program, the top of
# NEWS, and the recipes of packages.
set -u
cd "$SOURCE_DIR" || exit 1
version=$(sed -n 's/^AC_INIT(\[windlass\], \[\(.*\)\])$/\1/p' configure.ac)
status=0
# expect WHERE GOT
expect () {
    [ "$2" = "$version" ] && return
    echo "$1 has version '$2', configure.ac '$version'"
    status=1
}

[ -n "$version" ] || { echo "configure.ac has no version"; exit 1; }
expect NEWS "$(sed -n 's/^Windlass \([0-9][0-9.]*\) (.*)$/\1/p' NEWS | head -n 1)"
expect "windlass --version" "$("$WINDLASS" --version | sed -n 's/^windlass //p')"
expect packaging/windlass.spec "$(sed -n 's/^Version: *//p' packaging/windlass.spec)"
expect packaging/PKGBUILD "$(sed -n 's/^pkgver=//p' packaging/PKGBUILD)"
expect debian/changelog \
    "$(sed -n '1s/^windlass (\([^-~+)]*\).*/\1/p' debian/changelog)"
exit $status
