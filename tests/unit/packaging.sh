#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The recipes in packaging/ ask for the packages of tools/packages, and their systems' tools can
# read them.
set -u
cd "$SOURCE_DIR" || exit 1
. tools/packages
status=0
# same WHAT LIST LIST: the same words, in any order.
same () {
    local left right
    left=$(tr ' ' '\n' <<<"$2" | sed '/^$/d' | sort -u)
    right=$(tr ' ' '\n' <<<"$3" | sed '/^$/d' | sort -u)
    [ "$left" = "$right" ] && return
    echo "$1: what packaging has (<) and tools/packages (>):"
    diff <(echo "$left") <(echo "$right")
    status=1
}
# A tarball has configure, so that none of these is needed.
but_autotools () {
    sed -E 's/\b(autoconf|automake)\b//g' <<<"$1"
}

# requires SYSTEM: the spec's, without those of %check. SYSTEM is suse or other.
requires () {
    awk -v wanted="$1" '
        /^%if .*suse_version/ { in_suse = 1; on = wanted == "suse"; next }
        /^%if .*with check/ { skip = 1; next }
        /^%else/ && in_suse { on = !on; next }
        /^%endif/ { in_suse = skip = 0; next }
        /^BuildRequires:/ && !skip && (!in_suse || on) { print $2 }' packaging/windlass.spec |
        tr '\n' ' '
}
same "Fedora" "$(requires other)" "$(but_autotools "$BUILD_dnf")"
same "openSUSE" "$(requires suse)" "$(but_autotools "$BUILD_zypper")"

# Of Arch, makepkg takes the group base-devel for granted. glibc is what all is linked with.
arch=$(bash -c '. packaging/PKGBUILD && echo "${depends[@]} ${makedepends[@]}"') || status=1
same "Arch" "${arch/glibc/}" \
    "$(sed -E 's/\b(gcc|make|pkgconf)\b//g' <<<"$(but_autotools "$BUILD_pacman")")"

if command -v rpmspec >/dev/null; then
    said=$(rpmspec -q --qf '%{name} ' packaging/windlass.spec 2>&1)
    [ "$said" = "windlass windlass-devel " ] || { echo "rpmspec: $said"; status=1; }
fi
if command -v rpmlint >/dev/null; then
    said=$(rpmlint packaging/windlass.spec 2>&1) || { echo "rpmlint: $said"; status=1; }
fi
exit $status
