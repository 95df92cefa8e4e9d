#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tools/make-deb builds packages that carry libfuse, on Debian 12, as a build daemon would; they are
# installed into a bare Debian 12, mount, are upgraded under a mount, and leave nothing. What the
# pages print takes a new user to a mount by systemd and to a view, and an author to a translator
# under gdb.
# builds: release only
# through: device
# long
# timeout: 3600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/package-lib.sh"
need_root
need_fuse
need_command readelf

package_systems bookworm
package_build
package_lintian
dpkg-deb -x "$(echo "$packages"/windlass_*.deb)" unpacked
expect_match "where the program looks for libfuse" 'R.*PATH.*\[/usr/lib/windlass\]' \
    "$(readelf -d unpacked/usr/bin/windlass)"
expect_no_match "what the package depends on" 'libfuse' \
    "$(dpkg-deb -f "$(echo "$packages"/windlass_*.deb)" Depends)"
package_try
package_walk
package_translator
