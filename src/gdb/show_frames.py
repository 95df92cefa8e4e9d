# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xl frames`: every request in flight. `xl frame`: one translator's part in one. `bt` loses these
when a request changes threads."""

import os
import re
import time

import gdb

from windlass_gdb.arguments import all_places, stub_arguments, stubs_for
from windlass_gdb.base import (Command, Nothing, Problem, address_in, each_of_list, file_line,
                               file_static, function_at, function_name, has_field, is_core,
                               need_process, op_name, say, string_at, type_named)
from windlass_gdb.finding import (awaited_frames, frame_at, inode_of_nodeid, inode_path, requests,
                                  selected_request_frame,
                                  xlator_name)
from windlass_gdb.printers import summary


# --- ages -----------------------------------------------------------------------------------------

def core_time():
    """The time at which the core dump was written, in nanoseconds of the time of day; None if
    unknown."""
    found = re.search(r"`([^'\n]*)', file type",
                      gdb.execute("info files", to_string=True).split("core dump file:")[-1])
    try:
        return os.stat(found.group(1)).st_mtime_ns if found else None
    except OSError:
        return None


def age_of(root):
    """Seconds, or None. In a core dump until it was written, by the time of its file."""
    if not is_core():
        return (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - int(root["begin"])) / 1e9
    end, began = core_time(), root["ctime"]
    return ((end - int(began["tv_sec"]) * 10**9 - int(began["tv_nsec"])) / 1e9
            if end is not None else None)


def age_text(root):
    age = age_of(root)
    return "age unknown" if age is None else "%.1f s old" % max(age, 0)


# --- requests -------------------------------------------------------------------------------------

def process_name(pid):
    if is_core() or pid <= 0:
        return ""
    try:
        with open("/proc/%d/comm" % pid) as comm:
            return " (%s)" % comm.read().strip()
    except OSError:
        return ""


def asked_path(root):
    """What the request is about, as far as the bridge noted it; else ""."""
    first = root["frames"][0]
    try:
        if int(first["local"]) and string_at(first["this"]["type"]) == "mount/fuse":
            local = first["local"].cast(type_named("struct fuse_local").pointer())
            if int(local["parent"]) and int(local["name"]):
                return inode_path(local["parent"]).rstrip("/") + "/" + string_at(local["name"])
    except (Problem, gdb.error):
        pass
    try:
        return inode_path(inode_of_nodeid(int(root["about"])))
    except (Problem, gdb.error):
        return ""


def request_line(root):
    path = asked_path(root)
    pid = int(root["pid"])
    line = "request %d %s%s, %s, pid %d%s uid %d gid %d" % (
        int(root["unique"]), op_name(root["op"]), " " + path if path else "", age_text(root), pid,
        process_name(pid),
        int(root["uid"]), int(root["gid"]))
    if has_field(root.dereference(), "caused_by") and int(root["caused_by"]):
        line += ", caused by request %d" % int(root["caused_by"])
    return line + (", interrupted" if root["interrupted"] else "")


def site_text(site):
    if int(site) == 0:
        return "nobody knows where"
    return "%s at %s" % (string_at(site["function"]),
                         file_line(string_at(site["file"]), int(site["line"])))


def step_text(frame):
    """As ", step lock", for the frame of a running sequence (core/edge/steps.h); else ""."""
    running = file_static("steps_wait", "running")
    for sequence in each_of_list(running["first"], "next") if running is not None else ():
        if int(frame) in (int(sequence["frame"]), int(sequence["own"])):
            return ", %sstep %s" % ("undo of " if sequence["undoes"] else "",
                                    string_at(sequence["now"]["name"]))
    return ""


def wind_text(frame):
    """As "writev at posix (storage/posix), wound by rot13_writev at rot13.c:138, answer to
    rot13_writev_cbk"."""
    this = frame["this"]
    return "%s at %s (%s) 0x%x, wound by %s, answer to %s%s" % (
        op_name(frame["op"]), xlator_name(this), string_at(this["type"]) if int(this) else "?",
        int(frame),
        site_text(frame["wind_from"]), function_name(frame["ret"]), step_text(frame))


class Whereabouts:
    """Where frames are: on which stack, or in which stub."""

    def __init__(self, frames):
        self.places = all_places()
        self.stubs = stubs_for([frame for frame in frames if not self.arguments_on_stack(frame)])

    def arguments_on_stack(self, frame):
        return next((place.arguments for place in self.places.get(int(frame), [])
                     if place.arguments is not None), None)

    def lines(self, frame):
        """Its arguments, and what it is doing."""
        on_stack, stub = self.arguments_on_stack(frame), self.stubs.get(int(frame))
        places = self.places.get(int(frame), [])
        if on_stack is not None:
            yield on_stack
        elif stub is not None:
            yield stub_arguments(stub)
        if places:
            yield "in " + places[0].text()
        elif stub is not None:
            yield "set aside in call_stub 0x%x, to be resumed by %s" % (int(stub),
                                                                        function_name(stub["fn"]))


def show_request(root, whereabouts):
    say(request_line(root))
    frames = awaited_frames(root)
    depth = {}
    for frame in frames:
        depth[int(frame)] = depth.get(int(frame["parent"]), 0) + 1
    children = {}
    for frame in frames:
        children.setdefault(int(frame["parent"]), []).append(frame)

    def show(frame, indent):
        try:
            say("  " * indent + wind_text(frame))
            for line in whereabouts.lines(frame):
                say("  " * indent + "    " + line)
        except (gdb.error, RuntimeError) as problem:
            say("  " * indent + "frame 0x%x, which can't be read: %s" % (int(frame), problem))
        for child in children.get(int(frame), []):
            if indent < 1000:
                show(child, indent + 1)

    known = {int(frame) for frame in frames}
    for frame in frames:
        if int(frame["parent"]) not in known:
            show(frame, 1)
    if not frames:
        for line in whereabouts.lines(root["frames"][0].address):
            say("    " + line)


def seconds_of(text):
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)(ms|s|min|m|h)?", text)
    if not found:
        raise Problem("'%s' is no age: 5, 5s, 100ms, 2min or 1h" % text)
    unit = {"ms": 0.001, "min": 60, "m": 60, "h": 3600}.get(found.group(2), 1)
    return float(found.group(1)) * unit


class Frames(Command):
    """Every request in flight, and where it is.

    xl frames [--age [AGE]]

Every request in flight: its number, operation, age, and caller; below, each translator that has not
answered yet, with the operation, its arguments where they can be found (on a thread's stack, or in
the stub in which the call was set aside), where it was wound, and which callback waits for its
answer. A child is below its parent and further in.
--age: the oldest first; with an AGE such as 5s only those that are at least so old. In a core dump
the age is that at the time of its file."""

    name = "frames"

    def run(self, arguments):
        need_process()
        by_age = bool(arguments) and arguments[0] == "--age"
        if len(arguments) > (2 if by_age else 0):
            raise Problem("it takes --age or --age AGE, got '%s'" % " ".join(arguments))
        least = seconds_of(arguments[1]) if len(arguments) == 2 else None
        roots = requests()
        if by_age:
            roots.sort(key=lambda root: -(age_of(root) or 0))
        if least is not None:
            roots = [root for root in roots if (age_of(root) or 0) >= least]
        if not roots:
            say("no request is in flight" + (" that is as old as %s" % arguments[1]
                                             if least is not None else ""))
            return
        whereabouts = Whereabouts([frame for root in roots for frame in awaited_frames(root)])
        for root in roots:
            try:
                show_request(root, whereabouts)
            except (gdb.error, RuntimeError) as problem:
                say("request 0x%x, which can't be read: %s" % (int(root), problem))


# --- one frame ------------------------------------------------------------------------------------

def local_of(frame):
    """frame->local, with its type where a function on the stack says which it is."""
    return "0x%x" % int(frame["local"]) if int(frame["local"]) else "-"


def place_of(address):
    function = function_at(address)
    if function is None:
        return function_name(address)
    return "%s at %s" % (function.name, file_line(function.symtab.filename, function.line))


class Frame(Command):
    """One translator's part in a request.

    xl frame [ADDRESS]

A call_frame_t in detail: that of the selected stack frame (its `frame`, or that of the nearest
caller that has one), or the one at ADDRESS, which may be an expression such as frame->parent. `p
*frame` shows the bare struct."""

    name = "frame"

    def run(self, arguments):
        need_process()
        if arguments:
            address = address_in(" ".join(arguments))
            frame = frame_at(address)
            if frame is None:
                raise Problem("there is no frame at 0x%x; `xl frames` lists those in flight"
                              % address)
        else:
            frame = selected_request_frame()
            if frame is None:
                raise Nothing("no request is at work in the selected stack frame or its callers; "
                              "`xl frames` lists all of them, "
                              "and `xl frame ADDRESS` shows one")
        self.show(frame)

    def show(self, frame):
        root = frame["root"]
        say("frame 0x%x: %s" % (int(frame), summary(frame.dereference())))
        say("  request   %s" % (request_line(root) if int(root["unique"])
                                else "none: it was answered, and its memory waits for the "
                                "next"))
        say("  this      %s 0x%x" % (summary(frame["this"].dereference())
                                     if int(frame["this"]) else "-", int(frame["this"])))
        say("  wound     " + (site_text(frame["wind_from"]) if int(frame["wind_from"]) else "-"))
        say("  answered  " + (site_text(frame["unwind_from"])
                              if int(frame["unwind_from"]) else "not yet"))
        say("  runs      " + (step_text(frame)[2:] or "-"))
        say("  answer to " + (place_of(frame["ret"]) if int(frame["parent"]) else "-"))
        say("  cookie    %s, local %s"
            % ("0x%x" % int(frame["cookie"]) if int(frame["cookie"]) else "-", local_of(frame)))
        say("  above     " + (" <- ".join(self.above(frame)) or "-"))
        for line in Whereabouts([frame]).lines(frame):
            say("  " + line)

    @staticmethod
    def above(frame):
        names, above = [], frame["parent"]
        while int(above) and len(names) < 1000:
            names.append(xlator_name(above["this"]))
            above = above["parent"]
        return names


Frames()
Frame()
