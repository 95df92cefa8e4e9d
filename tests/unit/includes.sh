#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A room is a folder, and includes only its own headers and those of rooms on floors below. Only
# src/fuse knows libfuse, and a translator only xlator.h. No circle of files is in src/fuse.
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
cd "$SOURCE_DIR" && exec python3 - <<'END'
import os, re, sys

# From the ground up. Rooms of one line stand side by side: none of them includes another.
FLOORS = """
src/core/base
src/core/time src/core/data
src/core/table src/core/records
src/core/edge
src/core/work src/core/cache src/core/rules src/core/realm src/core/store
src/core/report src/rpc
src/xlator.h src/trace src/graph
src/control
src/meta src/fuse
src/cli
src/daemon conform
src/main.c
"""
FLOOR_OF = {room: floor for floor, line in enumerate(FLOORS.split("\n")) for room in line.split()}
INCLUDE = re.compile(r'^ *# *include *(["<])([^">]+)')
ASKS = re.compile(r"^ *# *(?:el)?if.*\bHAVE_")
ROOMS_HEADER = re.compile(r"(?:core/[a-z]+|trace|graph|rpc|control|meta|fuse|cli|daemon|conform)/")
failed = False


def blame(text):
    global failed
    failed = True
    print(text)


def room_of(path):
    parts = path.split("/")
    above = ("/".join(parts[:n]) for n in range(1, len(parts) + 1))
    room = next((one for one in above if one in FLOOR_OF), None)
    if room is None:
        blame(f"{path} is in no room")
    return room


def within(path, folders):
    return any(path.startswith(folder + "/") for folder in folders)


# {path: its lines} of every source in C.
sources = {}
for top in ("src", "conform", "xlators", "tests/xlators"):
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    sources[path] = file.read().splitlines()
# (path, number of the line, header, whether it is quoted) of every include.
includes = [(path, number, found[2], found[1] == '"') for path, lines in sorted(sources.items())
            for number, line in enumerate(lines, 1) if (found := INCLUDE.match(line))]


# Headers that stand in no room are for all: config.h, folders.h, fops.def, xlator.h. A file finds
# a header of its own folder by its name alone.
count = 0
for path, number, name, quoted in includes:
    if quoted and within(path, ("src", "conform")) and ROOMS_HEADER.match(name):
        count += 1
        header = name if name.startswith("conform/") else "src/" + name
        here, there = room_of(path), room_of(header)
        if here != there and FLOOR_OF.get(there, 99) >= FLOOR_OF.get(here, 0):
            blame(f"{path}:{number}: {here} may not include {header}: "
                  f"{there} is not on a floor below")
if count < 500:
    blame(f"only {count} includes were found: the test doesn't see them")


def is_own(path, name):
    """The header lies in the folder of the file's translator."""
    header = os.path.normpath(os.path.join(os.path.dirname(path), name))
    return within(header, ["/".join(path.split("/")[:3])]) and os.path.exists(header)


# A translator: xlator.h and the headers of its own folder; one that speaks to a server src/rpc too.
for path, number, name, quoted in includes:
    if (quoted and within(path, ("xlators", "tests/xlators")) and name != "xlator.h"
            and not is_own(path, name)
            and not (within(path, ["xlators/protocol"]) and name.startswith("rpc/"))):
        blame(f"{path}:{number}: a translator may include only xlator.h and its own headers "
              f"(protocol/ also those of src/rpc), not {name}")
for path, number, name, quoted in includes:
    if not quoted and name.startswith("fuse") and not within(path, ["src/fuse"]):
        blame(f"{path}:{number}: only src/fuse may include libfuse")

# A file that asks for HAVE_... includes config.h, itself or by a header that does. Without it
# #ifdef takes the other branch, and the compiler says nothing.
configured = {"config.h"} | {path[len("src/"):] for path, _, name, quoted in includes
                             if quoted and name == "config.h" and path.startswith("src/")
                             and path.endswith(".h")}
seen = {path for path, _, name, quoted in includes if quoted and name in configured}
for path, lines in sorted(sources.items()):
    if (within(path, ("src", "conform")) and path.endswith(".c") and path not in seen
            and any(map(ASKS.match, lines))):
        blame(f"{path} asks for HAVE_..., and includes no config.h")

# A file stands on each file that it includes, or whose function or variable its functions name. In
# these rooms no circle arises from that. An inline function may call its header's own source.
WITHOUT_CIRCLES = ("src/fuse",)
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^ *# *include[^\n]*', re.DOTALL | re.M)
DEFINES = re.compile(r"^(?!static|extern|typedef|struct \w+ \{)\w[\w *]*"
                     r"(?:\n(\w+) \(|\b(\w+)(?: = |;))", re.M)
INLINE = re.compile(r"^static inline .*?^}", re.DOTALL | re.M)
NAMES_IT = re.compile(r"^static inline \w[\w *]*\n(\w+)() \(", re.M)


def stands_on(room):
    """{path: the paths of the room's files that it stands on}"""
    codes = {path: NOT_CODE.sub("", "\n".join(lines)) for path, lines in sources.items()
             if within(path, [room])}
    for path, code in codes.items():
        if path.endswith(".h"):
            codes[path] = "\n".join(INLINE.findall(code))
    home = {function or variable: path for path, code in codes.items()
            for function, variable in (NAMES_IT if path.endswith(".h") else DEFINES).findall(code)}
    below = {path: {home[word] for word in re.findall(r"\w+", code) if word in home}
             for path, code in codes.items()}
    for path, _, name, quoted in includes:
        if path in below and quoted and "src/" + name in below:
            below[path].add("src/" + name)
    for path, others in below.items():
        others -= {path, path.removesuffix("h") + "c"}
    return below


for room in WITHOUT_CIRCLES:
    below = stands_on(room)
    if sum(map(len, below.values())) < 200:
        blame(f"{room}: too few files stand on others: the test doesn't see which")
    while free := [path for path, others in below.items() if not others & below.keys()]:
        for path in free:
            del below[path]
    for path, others in sorted(below.items()):
        above = " ".join(sorted(others & below.keys()))
        blame(f"{path}: in a circle of files, or above one, by {above}")
sys.exit(failed)
END
