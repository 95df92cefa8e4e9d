#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# doc/debugging.md, (a): a translator under gdb, as it stands there.
# builds: debug only
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/replay-lib.sh"
need_command gdb
replay doc/debugging.md a
