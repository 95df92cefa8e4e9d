#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/windlass.spec builds its packages with rpm, and what is in them runs. Here that is
# against this system's libraries, which rpm doesn't know: --nodeps.
# builds: release only
# long
# timeout: 3600
. "$(dirname "$0")/recipe-lib.sh"
need_command rpmbuild rpm2cpio cpio

recipe_tarball
rpmbuild -bb --nodeps --without check --define "_topdir $PWD/top" --define "_sourcedir $PWD" \
    --define '_binary_payload w0.gzdio' \
    "$SOURCE_DIR/packaging/windlass.spec" >rpm.log 2>&1 || fail "rpmbuild: $(tail -n 30 rpm.log)"
expect "the packages" "windlass-$version windlass-devel-$version" "$(
    rpm -qp --qf '%{name}-%{version}\n' top/RPMS/*/*.rpm | sort | xargs)"
devel=$(rpm -qpl top/RPMS/*/windlass-devel-*.rpm)
for path in include/windlass/xlator.h pkgconfig/windlass.pc windlass/windlass-conform \
    man7/fops.7; do
    expect_match "windlass-devel" "/$path(\..*)?\$" "$devel"
done
rpm -qpl top/RPMS/*/windlass-"$version"-*.rpm >main
expect "what is in both" '' "$(grep -v build-id <<<"$devel" | sort | comm -12 - <(sort main))"
expect_match "the helper of mount(8)" '/sbin/mount\.windlass$' "$(cat main)"
mkdir root
for package in top/RPMS/*/*.rpm; do
    rpm2cpio "$package" | (cd root && cpio -idm --quiet) || fail "$package can't be unpacked"
done
recipe_works "$PWD/root" "$(rpm --eval %_libdir)"
