# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xl wind`, `xl unwind`: runs until the selected request gets to the next translator, or its
answer to the next callback."""

import gdb

from windlass_gdb.base import (Command, Problem, function_at, need_running, op_name, op_names,
                               points_to, say, type_named)
from windlass_gdb.callbacks import CALLBACK, Function, is_translators, known
from windlass_gdb.finding import (awaited_frames, selected_library_request, selected_request_frame,
                                  value_of, xlator_name,
                                  xlators)

# Of the first argument at a function's entry, where debug information has lost it.
FIRST_REGISTER = ("rdi", "x0")


def function_frame(name):
    """The stack frame of the function that was stopped in: not that of one inlined at its
    beginning."""
    frame = gdb.newest_frame()
    while frame is not None and frame.name() != name and frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    return frame


def first_argument(name):
    """The first argument of a function at whose beginning the selected thread is."""
    frame = function_frame(name)
    block = frame.block()
    while block.function is None or block.function.name != name:
        block = block.superblock
    symbol = next(one for one in block if one.is_argument)
    value = value_of(frame, symbol)
    for register in FIRST_REGISTER if value is None else ():
        try:
            return frame.read_register(register).cast(symbol.type)
        except ValueError:
            continue
    return value


def frame_of_argument(value):
    """The call_frame_t * of a fop's, a callback's, or of what stands for one."""
    return value if points_to(value.type, "call_frame") else value["frame"]


class Own(gdb.Breakpoint):
    """One that the command keeps to itself: gdb would name it by a negative number."""

    def __init__(self, run, **place):
        super().__init__(internal=True, **place)
        self.run, self.silent = run, True


class Landing(Own):
    """Where a request may come by; gone when the command is over."""

    def __init__(self, function, run):
        self.function_name = function.name
        super().__init__(run, source=function.file, function=function.name)

    def stop(self):
        try:
            return self.run.lands(frame_of_argument(first_argument(self.function_name)))
        except Exception:
            return False


class End(Own):
    """stack_done of the request."""

    def __init__(self, run):
        super().__init__(run, function="stack_done")

    def stop(self):
        try:
            return self.run.ends(first_argument("stack_done"))
        except Exception:
            return False


class Run:
    """One run to the next landing of a request. A request that has not begun is known by libfuse's
    own request, since another thread may go on with it; without that either, it is the first that
    this thread lands with."""

    def __init__(self, start, skips_start):
        self.root = self.number = None
        self.top = selected_library_request() if start is None else None
        self.begin = (int(start), int(start["this"])) if start is not None and skips_start else None
        self.thread = gdb.selected_thread().num
        self.landed = self.ended = None
        self.silent = False  # whether gdb has shown nothing of the stop
        if start is not None:
            self.know(start["root"])

    def know(self, root):
        self.root, self.number = int(root), int(root["unique"])

    def is_ours(self, root):
        if self.root is not None:
            return int(root) == self.root
        if self.top is not None:
            return int(root["maker"]["asked"]) == self.top
        return gdb.selected_thread().num == self.thread

    def lands(self, frame):
        if not self.is_ours(frame["root"]) or (int(frame), int(frame["this"])) == self.begin:
            return False
        self.landed = frame
        return True

    def ends(self, root):
        self.ended = (self.root is not None or self.top is not None) and self.is_ours(root)
        if self.ended:
            self.know(root)
        return self.ended

    def stopped(self, event):
        hit = getattr(event, "breakpoints", [])
        self.silent = bool(hit) and all(isinstance(one, Own) for one in hit)

    def go(self, functions):
        breakpoints = []
        gdb.events.stop.connect(self.stopped)
        try:
            breakpoints = [Landing(one, self) for one in functions] + [End(self)]
            gdb.execute("continue")
        finally:
            gdb.events.stop.disconnect(self.stopped)
            for one in breakpoints:
                if one.is_valid():
                    one.delete()
        if self.silent:
            gdb.execute("frame")


def function_set(addresses):
    found = set()
    for address in addresses:
        symbol = function_at(address) if int(address) else None
        if (symbol is not None and symbol.symtab is not None
            and is_translators(symbol.symtab.filename)):
            found.add(Function(symbol.name, symbol.symtab.filename, ""))
    return found


def fop_addresses():
    return [int(xlator["api"]["fops"][op]) for xlator in xlators() for op in op_names()]


def begin(skips_start):
    """skips_start: a translator that is called again with the frame that it already has is no next
    one."""
    need_running()
    type_named("call_frame_t")
    return Run(selected_request_frame(), skips_start)


def report(run, what):
    if run.landed is not None and gdb.selected_inferior().pid:
        frame, thread = run.landed, gdb.selected_thread()
        say("request %d, %s, on thread %d \"%s\"" % (int(frame["root"]["unique"]), what(frame),
                                                     thread.num, thread.name or "?"))
    elif run.ended:
        say("request %d is over: it was answered, and that was its last" % run.number)
    elif gdb.selected_inferior().pid == 0:
        say("the process ended first")
    else:
        say("something else stopped it first")


class Wind(Command):
    """Runs to the next translator of this request.

    xl wind

Runs until the request of the selected stack frame (its `frame`, or that of the nearest caller that
has one) gets to the fop of the next translator, on whatever thread; other requests run on
meanwhile. Where no request has begun yet, as in fuse_write, the command follows the request that
this thread is about to begin. If the request ends first, the command says so."""

    name = "wind"

    def run(self, arguments):
        if arguments:
            raise Problem("it takes no argument, got '%s'" % arguments[0])
        run = begin(True)
        stand_ins = [int(xlator["api"]["any_fop"]) for xlator in xlators()]
        run.go(function_set(fop_addresses() + stand_ins))
        report(run, lambda frame: "%s: %s -> %s" % (op_name(frame["op"]),
                                                    xlator_name(frame["parent"]["this"]),
                                                    xlator_name(frame["this"])))


class Unwind(Command):
    """Runs to the next callback of this request.

    xl unwind

Runs until an answer of the request of the selected stack frame gets to the next callback, on
whatever thread; other requests run on meanwhile. If the request ends first, the command says so."""

    name = "unwind"

    def run(self, arguments):
        if arguments:
            raise Problem("it takes no argument, got '%s'" % arguments[0])
        run = begin(False)
        frame = selected_request_frame()
        waiting = ([int(one["ret"]) for one in awaited_frames(frame["root"])]
                   if frame is not None else [])
        stand_ins = [int(xlator["api"]["any_fop_cbk"]) for xlator in xlators()]
        functions = function_set(waiting + stand_ins)
        functions.update(Function(one.name, one.file, "")
                         for one in known("_cbk$", CALLBACK, [a for a in fop_addresses() if a]))
        run.go(functions)
        report(run, lambda frame: "an answer at %s" % xlator_name(frame["this"]))


Wind()
Unwind()
