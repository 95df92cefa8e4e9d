#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories with a translator that pauses the graph again and again: no call is under way in
# a pause, and nothing is lost or answered wrongly around one. A history has no bridge, so core
# answers XLATOR_PAUSE itself.
# longer
. "$(dirname "$0")/histories-lib.sh"

run 71 -- test/pause,every=5
run 72 --faults 50 -- performance/write-behind test/pause,every=7
run 73 -- performance/io-threads performance/md-cache test/pause,every=9 performance/open-behind
