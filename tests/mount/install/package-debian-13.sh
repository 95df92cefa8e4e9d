#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The packages are built with Debian 13's libfuse, by its flags, as a build daemon would; they are
# installed into a bare Debian 13, mount, are upgraded under a mount, and leave nothing. What the
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

package_systems trixie
package_build --system-libfuse
package_lintian
expect_match "what the package depends on" 'libfuse3-4' \
    "$(dpkg-deb -f "$(echo "$packages"/windlass_*.deb)" Depends)"
package_try
package_walk
package_translator
