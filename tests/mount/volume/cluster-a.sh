#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# doc/cluster.md, (a): from two empty directories to a replicated volume, as it stands there.
# builds: release only
. "$(dirname "$0")/../brick/lib.sh"
. "$(dirname "$0")/../debugging/replay-lib.sh"
replay doc/cluster.md a
