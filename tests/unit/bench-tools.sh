#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The programs of the bench compile from today's sources: the bench compiles them itself, and runs
# only when a developer asks for it.
# builds: release only
set -eu
TEST_DIR=${TEST_DIR:-$(mktemp -d)}
python3 - "$SOURCE_DIR" "$BUILD_DIR" "$TEST_DIR" <<'END'
import os, sys
source, build, tools = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert (0, os.path.join (source, "tests", "bench"))
import edge, stack

class Bench: pass
bench = Bench ()
bench.source, bench.tools, bench.windlass = source, tools, os.path.join (build, "windlass")
for program in (edge.compile_edge (bench), stack.compile_tool (bench, build)):
    assert os.access (program, os.X_OK), program
END
