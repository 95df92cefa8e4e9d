# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xl break FOP`: stops where an operation goes down or comes up, in every translator, also in
those loaded later."""

import difflib

import gdb

from windlass_gdb.base import Command, Problem, function_at, op_names, op_name, say
from windlass_gdb.callbacks import (CALLBACK, ANY_FOP_ANSWER, ANY_FOP_CALL, FOP, Function, has_type,
                                    known, op_of)
from windlass_gdb.finding import xlators
from windlass_gdb.running import first_argument

wanted = []  # the operations asked for, for translators that come later
placed = {}  # {(operation, function, file): breakpoint}


class Stop(gdb.Breakpoint):
    def __init__(self, function, op, any_fop):
        self.op, self.any_fop = op, any_fop
        super().__init__(source=function.file, function=function.name)

    def stop(self):
        """A function for all operations stops for this one alone; if the operation cannot be read,
        it stops."""
        if not self.any_fop:
            return True
        try:
            return op_name(first_argument(self.any_fop)["op"]) == self.op
        except Exception:
            return True


def function_of(address):
    symbol = function_at(address)
    return ({Function(symbol.name, symbol.symtab.filename, str(symbol.type))}
            if symbol is not None and symbol.symtab else set())


def of_graph(op):
    """What the graph says, if there is one already: functions may be called anything."""
    plain, any_fop = set(), set()
    try:
        for xlator in xlators():
            api = xlator["api"]
            plain |= function_of(api["fops"][op]) if int(api["fops"][op]) else set()
            for stand_in in ("any_fop", "any_fop_cbk"):
                any_fop |= function_of(api[stand_in]) if int(api[stand_in]) else set()
    except (Problem, gdb.error):
        pass
    return plain, any_fop


def functions_for(op):
    plain, any_fop = of_graph(op)
    names = r"\(_%s\|_any_fop\|_cbk\)$" % op  # one question to gdb, which takes its time
    plain.update(one for one in known(names, FOP) if op_of(one.name) == op
                 and has_type(one, op + "_fop"))
    plain.update(one for one in known(names, CALLBACK)
                 if op_of(one.name, "_cbk") in (op, None) and has_type(one, op + "_cbk"))
    any_fop.update(known(names, ANY_FOP_CALL))
    any_fop.update(known(names, ANY_FOP_ANSWER))
    return [(one, None) for one in sorted(plain)] + [(one, one.name) for one in sorted(any_fop)]


def place(op):
    """How many are there now."""
    count = 0
    for function, any_fop in functions_for(op):
        key = (op, function.name, function.file)
        if key not in placed or not placed[key].is_valid():
            placed[key] = Stop(function, op, any_fop)
        count += 1
    return count


def module_came(event):
    """A translator's, by what each exports."""
    if not wanted or event.new_objfile.lookup_global_symbol("xlator_api") is None:
        return
    for op in wanted:
        try:
            place(op)
        except (Problem, gdb.error, RuntimeError):
            pass


class Break(Command):
    """Stops at an operation in every translator, and at its callbacks.

    xl break FOP

Sets breakpoints on that operation, such as writev, in every loaded translator, on its callbacks
(those named for it, and those of its type that are named for no operation), and on the functions
that stand in for all operations (for that one alone). Translators that are loaded later get theirs
when they come. They are ordinary breakpoints: `info breakpoints`, `delete`."""

    name = "break"

    def run(self, arguments):
        if len(arguments) != 1:
            raise Problem("it takes an operation, such as %s" % ", ".join(op_names()[:3]))
        op = arguments[0]
        if op not in op_names():
            near = difflib.get_close_matches(op, op_names(), 1)
            raise Problem("'%s' is no operation%s"
                          % (op, "; did you mean '%s'?" % near[0] if near else ""))
        count = place(op)
        if op not in wanted:
            wanted.append(op)
        say("%s: %d place%s%s" % (op, count, "" if count == 1 else "s",
                                  "; more when translators are loaded"))

    def complete(self, text, word):
        try:
            return [op for op in op_names() if op.startswith(word)]
        except Exception:
            return []


gdb.events.new_objfile.connect(module_came)
Break()
