#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The programs of the bench compile from today's sources: the bench compiles them itself, and runs
# only when a developer asks for it. Of src/core, which the bench compiles for itself, only the
# includes are tried: it finds them without the headers that configure makes. The objects are those
# of the build.
# builds: release only
set -eu
TEST_DIR=${TEST_DIR:-$(mktemp -d)}
python3 - "$SOURCE_DIR" "$BUILD_DIR" "$TEST_DIR" <<'END' >/dev/null
import os, sys
source, build, tools = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert (0, os.path.join (source, "tests", "bench"))
import edge, stack

class Bench: pass
bench = Bench ()
bench.source, bench.tools, bench.windlass = source, tools, os.path.join (build, "windlass")
core = edge.core_of (source)
edge.compiler (bench, "-M", *core)
objects = [os.path.join (build, os.path.relpath (path, source))[:-1] + "o" for path in core]
for program in (edge.compile_edge (bench, objects), stack.compile_tool (bench, build)):
    assert os.access (program, os.X_OK), program
END
