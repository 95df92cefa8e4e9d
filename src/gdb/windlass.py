# SPDX-License-Identifier: LGPL-2.1-or-later
"""
What gdb should know about Windlass. Loaded by itself with an installed windlass (gdb may ask to
allow it first), and by RUN=gdb ./windlass; elsewhere:

    (gdb) source src/gdb/windlass.py
    (gdb) help xl

This file only loads the others, every one of its folder, as modules of the package windlass_gdb:
where it is installed they are in the folder windlass-gdb beside it.

Names of operations, fields and constants come from the debug information and are never written
down. For that main.c's the_program is static, since a graph is found through it, and a chunk of
inode slots is a struct with an array, whose size DWARF knows. Requests are found in the pool of
stack.c and frames in their strands. An address is a frame only if it lies in one of these, and an
inode only if its slot leads back to it. Stubs are in no list: memory is searched for the address of
the frame.
"""

import importlib
import os
import sys
import types

import gdb

PACKAGE = "windlass_gdb"


def folder():
    here = os.path.dirname(os.path.realpath(__file__))  # a link beside the program leads here
    installed = os.path.join(here, "windlass-gdb")
    return installed if os.path.isdir(installed) else here


def load(path):
    """Loads each file again, so that an edited one can be sourced again. A file that fails does not
    stop the others."""
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]
    package = types.ModuleType(PACKAGE, __doc__)
    package.__path__ = [path]
    sys.modules[PACKAGE] = package
    for file in sorted(os.listdir(path)):
        name, ending = os.path.splitext(file)
        if ending != ".py" or name == "windlass":
            continue
        try:
            importlib.import_module(PACKAGE + "." + name)
        except Exception as problem:
            gdb.write("windlass: '%s' could not be loaded: %s: %s\n"
                      % (os.path.join(path, file), type(problem).__name__, problem), gdb.STDERR)


# No __pycache__ in the source tree, nor where it is installed.
writes = sys.dont_write_bytecode
sys.dont_write_bytecode = True
try:
    load(folder())
finally:
    sys.dont_write_bytecode = writes
