# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cost of one layer, without FUSE: nanoseconds from edge.c, and instructions as callgrind
counts them."""

import glob
import os
import re
import shutil
import subprocess

LAYERS, CALLS = 20, 1000
CFLAGS = ("-std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -fno-omit-frame-pointer "
          "-fno-optimize-sibling-calls "
          "-Wno-unused-parameter").split()


def core_of(source):
    """What edge.c is linked with."""
    return [*glob.glob(os.path.join(source, "src", "core", "*", "*.c")),
            os.path.join(source, "src", "trace", "metrics", "numbers.c")]


def compiler(bench, *words):
    """Runs it with what edge.c needs."""
    include = os.path.join(bench.tools, "core", "table")
    os.makedirs(include, exist_ok=True)
    with open(os.path.join(include, "fops-rows.h"), "w", encoding="ascii") as rows:
        subprocess.run(["awk", "-f",
                        os.path.join(bench.source, "src", "core", "table", "fops-rows.awk"),
                        os.path.join(bench.source, "src", "fops.def")], stdout=rows, check=True)
    glib = subprocess.run(["pkg-config", "--cflags", "--libs", "glib-2.0", "gmodule-2.0"],
                          stdout=subprocess.PIPE,
                          text=True, check=True).stdout.split()
    subprocess.run(["cc", *CFLAGS, "-I" + bench.tools, "-I" + os.path.join(bench.source, "src"),
                    *words, *glib, "-lpthread", "-lm"], check=True)


def compile_edge(bench, core=None):
    """With its own copy of src/core, since a build tree may be a debug build; or with these
    objects."""
    out = os.path.join(bench.tools, "edge")
    compiler(bench, os.path.join(bench.source, "tests", "bench", "edge.c"),
             *(core or core_of(bench.source)), "-o", out)
    return out


def instructions(edge, operation, layers):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
               "--toggle-collect=calls*", edge,
               "count", str(operation), str(layers), str(CALLS)]
    said = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                          check=True).stderr
    return int(re.search(r"Collected : (\d+)", said).group(1))


def measure(bench):
    """A list of {operation, nanoseconds, instructions}."""
    edge = compile_edge(bench)
    said = subprocess.run(bench.on_cpu(True) + [edge], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    times = re.findall(r"^(.+?)\s+(-?[\d.]+) ns a layer \((-?[\d.]+) to (-?[\d.]+)\)$", said, re.M)
    rows = []
    for number, (operation, median, least, most) in enumerate(times):
        bench.progress(f"edge: counting the instructions of {operation}")
        count = None
        if shutil.which("valgrind"):
            count = (instructions(edge, number, LAYERS) - instructions(edge, number,
                                                                       0)) / LAYERS / CALLS
        rows.append({"operation": operation, "ns": float(median), "ns_least": float(least),
                     "ns_most": float(most),
                     "instructions": count})
    return rows
