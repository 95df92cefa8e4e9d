# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cost of a request that a translator only passes on, or answers itself, without FUSE and
without storage. The client's stack: each of its translators alone, and all of them; md-cache has a
timeout of 0, so that each request is a miss. And translators that keep data: the cost of a hit, and
of passing by. Nanoseconds are translator.c's, instructions callgrind's."""

import glob
import os
import re
import shutil
import subprocess

CALLS = 500
OPTIONS = {"performance/md-cache": {"md-cache-timeout": "0"},
           "io-cache, too large": {"max-file-size": "1MB"}}
KINDS = {"io-cache, too large": "performance/io-cache"}
READERS = ["performance/read-ahead", "performance/io-cache", "io-cache, too large",
           "performance/quick-read", "performance/open-behind"]
# The operations that are asked of the client's stack and of translators that keep data. A quick run
# uses the first of each.
ASKED, READ = ["stat", "writev", "lookup"], ["read-again", "read-on", "read-apart", "open"]
IO_THREADS = "performance/io-threads"


def build_of(bench):
    """The tree that the program was built in, or None: it has the translators and those of
    tests."""
    tree = os.path.dirname(os.path.realpath(bench.windlass))
    return tree if os.path.isdir(os.path.join(tree, "tests", "xlators")) else None


def compile_tool(bench, tree):
    glib = subprocess.run(["pkg-config", "--cflags", "--libs", "glib-2.0", "gmodule-2.0",
                           "openssl"],
                          stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()
    objects = [path for folder in ("core/*", "graph", "rpc", "rpc/*")
               for path in glob.glob(os.path.join(tree, "src", folder, "[a-z]*.o"))
               if not os.path.basename(path).startswith("windlass-")]
    out = os.path.join(bench.tools, "translator")
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-rdynamic",
                    "-Wno-unused-parameter", f"-I{tree}",
                    f"-I{tree}/src", "-I" + os.path.join(bench.source, "src"),
                    os.path.join(bench.source, "tests", "bench", "translator.c"), *objects, "-o",
                    out, *glib, "-lpthread", "-lm"],
                   check=True)
    return out


def volfile(bench, name, kinds):
    text, below = "volume leaf\n    type test/instant\nend-volume\n", "leaf"
    for number, kind in enumerate(kinds):
        options = "".join(f"    option {key} {value}\n" for key,
                          value in OPTIONS.get(kind, {}).items())
        text += (f"volume v{number}\n    type {KINDS.get(kind, kind)}\n{options}    subvolumes "
                 f"{below}\nend-volume\n")
        below = f"v{number}"
    path = os.path.join(bench.tools, name + ".vol")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def client_stack(bench):
    with open(os.path.join(bench.source, "volfiles", "client-stack.vol"), encoding="ascii") as file:
        return [kind for kind in re.findall(r"^ *type +(\S+)", file.read(), re.M)
                if kind != "storage/posix"]


def stacks_of(bench):
    kinds = client_stack(bench)
    without = [kind for kind in kinds if kind != IO_THREADS]
    stacks = {"nothing": []}
    stacks |= {kind: [kind] for kind in kinds}
    if without != kinds:
        stacks["all but io-threads"] = without
    stacks["all"] = kinds
    return stacks


def instructions(tool, environment, operation, path):
    if not shutil.which("valgrind"):
        return None
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
               "--toggle-collect=calls*", tool, "count", operation,
               path, str(CALLS)]
    said = subprocess.run(command, env=environment, stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, text=True, check=True).stderr
    return int(re.search(r"Collected : (\d+)", said).group(1)) / CALLS


def measure_stacks(bench, tool, environment, operations, stacks):
    """stacks: {name: volfile}."""
    names = {path: name for name, path in stacks.items()}
    bench.progress(f"stack: nanoseconds of {', '.join(operations)}")
    said = subprocess.run(bench.on_cpu(True) + [tool, "-o", ",".join(operations), *stacks.values()],
                          env=environment,
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    for operation, path, ns, more in re.findall(r"^([\w-]+) +(\S+) +([\d.]+) ns +([+-][\d.]+) ns$",
                                                said, re.M):
        bench.progress(f"stack: instructions of {operation} with {names[path]}")
        yield {"operation": operation, "stack": names[path], "ns": float(ns),
               "more_ns": float(more),
               "instructions": instructions(tool, environment, operation, path)}


def measure(bench):
    """A list of {operation, stack, ns, more_ns, instructions}; more_ns: than nothing above the
    leaf."""
    tree = build_of(bench)
    if not tree:
        bench.say("stack: left out, it needs a build tree")
        return []
    tool = compile_tool(bench, tree)
    environment = dict(os.environ, WINDLASS_XLATOR_PATH=f"{tree}/xlators:{tree}/tests/xlators")
    rows = []
    for operations, kinds in ((ASKED, stacks_of(bench)),
                              (READ, {"nothing": [], **{kind: [kind] for kind in READERS}})):
        stacks = {name: volfile(bench, f"stack-{operations[0]}-{number}", each) for number,
                  (name, each) in enumerate(kinds.items())}
        rows += measure_stacks(bench, tool, environment,
                               operations[:1] if bench.quick else operations, stacks)
    return rows


def more_instructions(row, rows):
    """Than nothing above the leaf."""
    first = next(other for other in rows if other["operation"] == row["operation"])
    return ("-" if row["instructions"] is None
            else f"{row['instructions'] - first['instructions']:+.0f}")


def print_rows(rows, table):
    print("\nwhat a translator costs a request that it passes on, or answers itself, without FUSE "
          "and storage (read-again: 4 KiB of a small "
          "file, which a cache has by then; read-on: on through a large one; read-apart: here and "
          "there in it, which nobody guesses)\n")
    lines = [["", "ns", "more", "instructions", "more"]]
    for row in rows:
        count = "-" if row["instructions"] is None else f"{row['instructions']:.0f}"
        lines.append([f"{row['operation']}: {row['stack']}", f"{row['ns']:.0f}",
                      f"{row['more_ns']:+.0f}", count, more_instructions(row, rows)])
    print("\n".join(table(lines)))
