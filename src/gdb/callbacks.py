# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Finds the functions that are a translator's fops, and those that take answers, by their types.
Functions of the core that stand in between (those that watch an edge, or hand a call to any_fop)
are left out: of the program's own sources only the bridge's count.
"""

import collections
import functools
import os
import re

import gdb

from windlass_gdb.base import Problem, function_at, op_names, type_named

Function = collections.namedtuple("Function", "name file type")


def folder_of(function):
    symbol = gdb.lookup_global_symbol(function)
    if symbol is None or symbol.symtab is None:
        raise Problem("there is no debug information about '%s': this isn't windlass, or it has "
                      "none" % function)
    return os.path.dirname(symbol.symtab.filename)


def is_translators(file):
    """A module's source, or the bridge's."""
    source = folder_of("main")
    try:
        bridge = folder_of("bridge_new")
    except Problem:
        bridge = None
    in_bridge = bridge is not None and file.startswith(bridge + "/")
    return in_bridge or not file.startswith(source + "/")


def parse(listing):
    """What `info functions` says."""
    file = None
    for line in listing.splitlines():
        if line.startswith("File "):
            file = line[len("File "):].rstrip(":")
        found = re.match(r"\d+:\s+(?:static )?(.*?)\b(\w+)(\(.*\));$", line)
        if found and file:
            yield Function(found.group(2), file, found.group(1).strip() + " " + found.group(3))


@functools.lru_cache(maxsize=None)
def named(pattern):
    """The functions of translators whose names match. By name, since looking for types makes gdb
    read all of libc."""
    try:
        listing = gdb.execute("info functions -q -n %s" % pattern, to_string=True)
    except gdb.error:
        return ()
    files, found = {}, []
    for one in parse(listing):
        if one.file not in files:
            files[one.file] = is_translators(one.file)
        if files[one.file]:
            found.append(one)
    return tuple(found)


def beside(address):
    """All functions of the source file that has this one."""
    symbol = function_at(address)
    if symbol is None or symbol.symtab is None:
        return
    for block in (symbol.symtab.static_block(), symbol.symtab.global_block()):
        for one in block:
            if one.is_function and one.symtab is not None:
                yield Function(one.name, one.symtab.filename, str(one.type))


def begins(function, arguments):
    return function.type.replace(" ", "").startswith("void(" + arguments.replace(" ", ""))


FOP, CALLBACK = "call_frame_t *, xlator_t *,", "call_frame_t *, void *, xlator_t *,"
ANY_FOP_CALL, ANY_FOP_ANSWER = "const struct call *)", "const struct answer *)"


def known(pattern, arguments, addresses=()):
    """The functions that begin with these arguments: those whose names match, and those at the
    addresses."""
    found = {one for one in named(pattern) if begins(one, arguments)}
    for address in addresses:
        found.update(one for one in beside(address) if begins(one, arguments))
    return sorted(found)


def op_of(name, ending=""):
    """Which operation a function is named for: "writev" of rot13_writev_cbk; None if for none."""
    found = [op for op in op_names() if name.endswith("_" + op + ending)]
    return max(found, key=len) if found else None


def has_type(function, name):
    return function.type.replace(" ", "") == str(type_named(name).strip_typedefs()).replace(" ", "")


def forget_functions(event):
    named.cache_clear()


gdb.events.new_objfile.connect(forget_functions)
gdb.events.clear_objfiles.connect(forget_functions)
