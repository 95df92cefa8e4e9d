#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# doc/debugging.md, (c): a number is traced to the system call that it comes from, and to the
# translator that changed it, as it stands there.
# builds: debug only
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/replay-lib.sh"
need_command gdb
need_command qemu-img gcc pkg-config
replay doc/debugging.md c
