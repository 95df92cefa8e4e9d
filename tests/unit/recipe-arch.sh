#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/PKGBUILD builds its package with makepkg, as an ordinary user, and what is in it runs.
# Here that is against this system's libraries, which makepkg doesn't know: --nodeps.
# builds: release only
# long
# timeout: 3600
. "$(dirname "$0")/recipe-lib.sh"
need_command makepkg bsdtar fakeroot

recipe_tarball
mkdir arch
cp windlass-*.tar.xz "$SOURCE_DIR/packaging/PKGBUILD" arch/
as=''
if [ "$(id -u)" = 0 ]; then # makepkg refuses root
    chown -R 65534 arch
    chmod 755 "$TEST_DIR"
    as=user
fi
# The compiler's options of Arch.
{
    cat /etc/makepkg.conf
    echo 'CFLAGS="-O2 -pipe -fno-plt -Wp,-D_FORTIFY_SOURCE=3"'
    echo 'LDFLAGS="-Wl,-O1 -Wl,--sort-common -Wl,--as-needed -Wl,-z,relro -Wl,-z,now"'
    echo 'DEBUG_CFLAGS=-g'
} >arch/makepkg.conf
(cd arch && HOME=$PWD CCACHE_READONLY=1 CCACHE_TEMPDIR=$PWD/cache PKGEXT=.pkg.tar \
    $as makepkg --config makepkg.conf --nodeps --nocheck >../arch.log 2>&1) ||
    fail "makepkg: $(tail -n 30 arch.log)"
mkdir root
for package in arch/windlass-"$version"-*.pkg.tar; do
    tar -C root -xf "$package" || fail "$package can't be unpacked"
done
expect_match "what it needs" '^depend = fuse3$' "$(cat root/.PKGINFO)"
for path in usr/bin/mount.windlass usr/include/windlass/xlator.h usr/lib/pkgconfig/windlass.pc \
    usr/lib/windlass/windlass-conform; do
    expect_ok test -s "root/$path"
done
expect "folders that Arch has not" '' "$(
    cd root && find . -path '*/local' -o -path './usr/sbin' -o -path './usr/libexec')"
recipe_works "$PWD/root" /usr/lib
