#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A name has one definition in the tree, so that gdb, the function graph and a search find one place:
# functions and variables of files, and the struct, union and enum tags of headers. The names come
# from the debug information of the object files. names.sh FOLDER prints only duplicates with a file
# below FOLDER.
# builds: debug
# timeout: 120
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
command -v readelf >/dev/null || { echo "needs readelf"; exit 77; }
exec python3 - "$SOURCE_DIR" "$BUILD_DIR" "$@" <<'END_OF_PYTHON'
import os, re, subprocess, sys
from collections import defaultdict

source, build = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
folder_wanted = sys.argv[3] if len(sys.argv) > 3 else ""
# Several files define the entries of programs and modules, and a fuzz target stands in for the
# list of subcommands.
SEVERAL = {"main", "xlator_api", "LLVMFuzzerInitialize", "LLVMFuzzerTestOneInput", "cli_commands"}
# Each theme of the kit's cases has words of its own.
THEMES = "conform/mount/themes/"

os.chdir(build)
objects = sorted(os.path.join(folder, name) for top in ("src", "conform", "xlators", "tests")
                 for folder, _, names in os.walk(top) for name in names if name.endswith(".o"))


def readelf(*what):
    """{object: readelf's text of it}"""
    text = subprocess.run(["readelf", *what, *objects], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace").stdout
    return {part.split("\n", 1)[0]: part for part in text.split("\nFile: ")[1:]}


DIRECTORY = re.compile(r"^  (\d+)\t\(.*\): (.*)$", re.M)
FILE = re.compile(r"^  (\d+)\t(\d+)\t\(.*\): (.*)$", re.M)


def files_of(table):
    """{number: path from the top of the sources}, of files in the sources"""
    directories = dict(DIRECTORY.findall(table))
    paths = {n: os.path.normpath(os.path.join(build, directories[of], name))
             for n, of, name in FILE.findall(table)}
    return {n: os.path.relpath(path, source) for n, path in paths.items()
            if path.startswith(source + "/")}


lines_of = {}


def is_written(path, line, name):
    """The name is in the source where it is declared: no macro put it together."""
    if path not in lines_of:
        try:
            with open(os.path.join(source, path), encoding="utf-8", errors="replace") as file:
                lines_of[path] = file.read().split("\n")
        except FileNotFoundError:
            lines_of[path] = []
    text = lines_of[path][line - 1] if 0 < line <= len(lines_of[path]) else ""
    return re.search(r"\b" + name + r"\b", text) is not None


# A declaration or definition at the top of a file: its tag and the attributes.
ENTRY = re.compile(r"^ <1><([0-9a-f]+)>: Abbrev Number: \d+ "
                   r"\(DW_TAG_(subprogram|variable|structure_type|union_type|enumeration_type)\)\n"
                   r"((?:    .*\n)+)", re.M)
ATTRIBUTE = re.compile(r"DW_AT_(name|decl_file|decl_line|specification)"
                       r" *: (?:\(.*?offset: 0x[0-9a-f]+\): )?(.*?)\s*$", re.M)
names, tags = defaultdict(set), defaultdict(set)
tables = readelf("--debug-dump=rawline")
for one, text in readelf("-wi", "--dwarf-depth=2").items():
    files = files_of(tables[one])
    declared = {}
    for offset, kind, attributes in ENTRY.findall(text):
        values = dict(ATTRIBUTE.findall(attributes))
        if "DW_AT_declaration" in attributes:
            declared[f"<0x{offset}>"] = values
            continue
        if "specification" in values:
            values = {**declared[values["specification"]], **values}
        path = files.get(values.get("decl_file"))
        if path and "name" in values and is_written(path, int(values["decl_line"]), values["name"]):
            (tags if kind.endswith("_type") else names)[values["name"]].add(path)


def blame(kind, name, paths):
    if len(paths) < 2 or not any(path.startswith(folder_wanted) for path in paths):
        return 0
    print(f"{kind} {name} is defined in {', '.join(sorted(paths))}")
    return 1


found = sum(blame("name", name, {path for path in paths if not path.startswith(THEMES)})
            for name, paths in sorted(names.items()) if name not in SEVERAL)
found += sum(blame("tag", name, {path for path in paths if not path.startswith(THEMES)})
             for name, paths in sorted(tags.items())
             if not all(path.endswith(".c") for path in paths))
if len(names) < 5000 or len(tags) < 400:
    sys.exit(f"only {len(names)} names and {len(tags)} tags were found: the test doesn't see them")
sys.exit(found > 0)
END_OF_PYTHON
