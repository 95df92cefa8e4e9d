# SPDX-License-Identifier: LGPL-2.1-or-later
"""Histories of names on a replicated mount whose copy goes away and comes back between two steps:

    between-kills.py do PHASE MOUNT BARE     does what belongs to a phase, on the mount and beside it
    between-kills.py compare MOUNT BARE      whether a mount shows what a bare directory has

A history is a list of steps. It is repeated, each time in a folder of its own, with every choice of
the steps after which the copy goes and comes: the steps before it goes are phase 0, those while it
is away are phase 1, and so on."""

import itertools
import os
import sys

PHASES = 5  # up, down, up, down, up


def write(text):
    def step(path):
        with open(path, "w") as file:
            file.write(text)
    return step


def replace(text):
    def step(path):
        os.unlink(path)
        write(text)(path)
    return step


def removed_directory(path):
    os.rmdir(path)
    os.mkdir(path)


HISTORIES = {
    "replaced": [("file", write("one")), ("file", replace("two")), ("file", replace("three"))],
    "moved": [("dir", os.mkdir), ("dir/sub", os.mkdir), ("dir/sub/in", write("text")),
              ("dir/sub", lambda path: os.rename(path, path[:-len("dir/sub")] + "moved")),
              ("moved/in", replace("other"))],
    "over": [("a", write("a")), ("b", write("b")),
             ("a", lambda path: os.rename(path, path[:-1] + "b")), ("a", write("new"))],
    "emptied": [("a", os.mkdir), ("b", os.mkdir), ("a/in", write("in")),
                ("a", lambda path: os.rename(path, path[:-1] + "b")), ("b/in", os.unlink),
                ("b", removed_directory)],
    "linked": [("a", write("a")), ("a", lambda path: os.link(path, path[:-1] + "b")),
               ("a", os.unlink), ("a", write("other"))],
    "other type": [("a", write("a")), ("a", os.unlink), ("a", os.mkdir), ("a/in", write("in"))],
}


def runs(phases):
    """(folder, steps by phase) of each history, for each choice of cuts."""
    for name, steps in HISTORIES.items():
        for cuts in itertools.combinations_with_replacement(range(len(steps) + 1), phases - 1):
            if cuts[0] == cuts[1]:  # nothing happens while the copy is away
                continue
            if phases == PHASES and (cuts[2] == cuts[3] or cuts[1] != cuts[2]):
                continue
            ends = (0, *cuts, len(steps))
            yield (f"{name.replace(' ', '-')}-{'-'.join(map(str, cuts))}",
                   [steps[a:b] for a, b in zip(ends, ends[1:])])


def do(phase, phases, roots):
    for folder, steps in runs(phases):
        for root in roots:
            if phase == 0:
                os.mkdir(f"{root}/{folder}")
            for path, step in steps[phase]:
                step(f"{root}/{folder}/{path}")


def tree(root):
    """{path: type, or content of a file}; a name that can't be used has its error."""
    found = {}
    for path, names, files in os.walk(root, onerror=lambda error: found.update(
            {os.path.relpath(error.filename, root): str(error)})):
        for name in names:
            found[os.path.relpath(f"{path}/{name}", root)] = "directory"
        for name in files:
            try:
                with open(f"{path}/{name}") as file:
                    found[os.path.relpath(f"{path}/{name}", root)] = "file: " + file.read()
            except OSError as error:
                found[os.path.relpath(f"{path}/{name}", root)] = str(error)
    return found


def compare(mount, bare):
    shown, there = tree(mount), tree(bare)
    for path in sorted({*shown, *there}):
        if shown.get(path) != there.get(path):
            print(f"{path}: {shown.get(path)} instead of {there.get(path)}")


if sys.argv[1] == "do":
    do(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
else:
    compare(*sys.argv[2:])
