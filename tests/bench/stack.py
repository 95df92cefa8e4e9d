# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the client's stack costs a request, without FUSE and without storage: each of its translators alone, and all of them. md-cache has a
timeout of 0, so that each request is a miss. Nanoseconds are translator.c's, instructions callgrind's."""

import glob
import os
import re
import shutil
import subprocess

CALLS = 1000
MISSES = {"performance/md-cache": {"md-cache-timeout": "0"}}
HANDS_OVER = "performance/io-threads"


def build_of(bench):
    """The tree that the program was built in, or None: there the translators and those of tests are."""
    tree = os.path.dirname(os.path.realpath(bench.windlass))
    return tree if os.path.isdir(os.path.join(tree, "tests", "xlators")) else None


def compile_tool(bench, tree):
    glib = subprocess.run(["pkg-config", "--cflags", "--libs", "glib-2.0", "gmodule-2.0"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()
    objects = [path for folder in ("core", "graph") for path in glob.glob(os.path.join(tree, "src", folder, "[a-z]*.o"))
               if not os.path.basename(path).startswith("windlass-")]
    out = os.path.join(bench.tools, "translator")
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-rdynamic", "-Wno-unused-parameter", f"-I{tree}",
                    f"-I{tree}/src", "-I" + os.path.join(bench.source, "src"),
                    os.path.join(bench.source, "tests", "bench", "translator.c"), *objects, "-o", out, *glib, "-lpthread", "-lm"],
                   check=True)
    return out


def volfile(bench, name, kinds):
    text, below = "volume leaf\n    type test/instant\nend-volume\n", "leaf"
    for number, kind in enumerate(kinds):
        options = "".join(f"    option {key} {value}\n" for key, value in MISSES.get(kind, {}).items())
        text += f"volume v{number}\n    type {kind}\n{options}    subvolumes {below}\nend-volume\n"
        below = f"v{number}"
    path = os.path.join(bench.tools, name + ".vol")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def client_stack(bench):
    with open(os.path.join(bench.source, "volfiles", "client-stack.vol"), encoding="ascii") as file:
        return [kind for kind in re.findall(r"^ *type +(\S+)", file.read(), re.M) if kind != "storage/posix"]


def stacks_of(bench):
    kinds = client_stack(bench)
    without = [kind for kind in kinds if kind != HANDS_OVER]
    stacks = {"nothing": []}
    stacks |= {kind: [kind] for kind in kinds}
    if without != kinds:
        stacks["all but io-threads"] = without
    stacks["all"] = kinds
    return stacks


def instructions(bench, tool, environment, operation, path):
    def count(calls):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=calls", tool, "count",
                   str(operation), path, str(calls)]
        said = subprocess.run(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=True).stderr
        return int(re.search(r"Collected : (\d+)", said).group(1))

    return (count(2 * CALLS) - count(CALLS)) / CALLS if shutil.which("valgrind") else None


def measure(bench):
    """A list of {operation, stack, ns, more_ns, instructions}; more_ns: than nothing above the leaf."""
    tree = build_of(bench)
    if not tree:
        bench.say("stack: left out, it needs a build tree")
        return []
    tool = compile_tool(bench, tree)
    environment = dict(os.environ, WINDLASS_XLATOR_PATH=f"{tree}/xlators:{tree}/tests/xlators")
    stacks = {name: volfile(bench, f"stack-{number}", kinds) for number, (name, kinds) in enumerate(stacks_of(bench).items())}
    names = {path: name for name, path in stacks.items()}
    bench.progress("stack: nanoseconds")
    said = subprocess.run(bench.on_cpu(True) + [tool, *stacks.values()], env=environment, stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    rows = []
    for operation, path, ns, more in re.findall(r"^(\w+) +(\S+) +([\d.]+) ns +([+-][\d.]+) ns$", said, re.M):
        bench.progress(f"stack: instructions of {operation} with {names[path]}")
        rows.append({"operation": operation, "stack": names[path], "ns": float(ns), "more_ns": float(more),
                     "instructions": instructions(bench, tool, environment, 0 if operation == "stat" else 1, path)})
    return rows


def print_rows(rows, table):
    print("\nthe client's stack, each of it alone and all: a request that is passed on or missed in a cache, without FUSE and storage\n")
    lines = [["", "", "ns", "more", "instructions"]]
    for row in rows:
        count = "-" if row["instructions"] is None else f"{row['instructions']:.0f}"
        lines.append([row["operation"], row["stack"], f"{row['ns']:.0f}", f"{row['more_ns']:+.0f}", count])
    print("\n".join(table(lines)))
