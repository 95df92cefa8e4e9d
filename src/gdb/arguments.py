# SPDX-License-Identifier: LGPL-2.1-or-later
"""
The arguments with which a frame was wound. They are where the request is: on the stack of the
thread that works on it, or in the call_stub that was made when it was set aside. No list holds the
stubs, so memory is searched for those of the given frames.
"""

import re
import struct

import gdb

from windlass_gdb.base import (file_line, function_at, function_name, is_core, op_name, points_to,
                               pointer_to, string_at, type_named)
from windlass_gdb.finding import frame_of_value, value_of
from windlass_gdb.printers import bytes_text, summary

DEPTH = 256          # stack frames of a thread that are looked at
PIECE = 4 << 20      # bytes that are read at once
MOST = 2 << 30       # bytes of memory that are searched, in all


# --- how they look --------------------------------------------------------------------------------

def value_text(name, value, arguments):
    """"flags=0101001", "loc=0x7ff... {/a/b ...}"."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        return pointer_text(name, value, kind.target().strip_typedefs().unqualified(), arguments)
    if kind.code == gdb.TYPE_CODE_STRUCT:
        return "%s={%s}" % (name, summary(value) or "...")
    if name == "flags" or "mode" in name or name == "umask":
        return "%s=0%o" % (name, int(value) & 0xffffffff)
    return "%s=%s" % (name, value)


def pointer_text(name, value, target, arguments):
    if int(value) == 0:
        return name + "=-"
    if target.code == gdb.TYPE_CODE_INT and target.sizeof == 1:
        return '%s="%s"' % (name, string_at(value))
    if target.tag == "iovec":
        return vector_text(name, value, arguments.get("count"))
    inside = (summary(value.dereference())
              if target.code == gdb.TYPE_CODE_STRUCT and target.tag else None)
    return "%s=0x%x%s" % (name, int(value), " {%s}" % inside if inside else "")


def vector_text(name, value, count):
    if count is None or not 0 < int(count) <= 1024:
        return "%s=0x%x" % (name, int(value))
    first = value[0]
    whole = sum(int(value[i]["iov_len"]) for i in range(int(count)))
    try:
        start = bytes_text(first["iov_base"], int(first["iov_len"]))
    except gdb.MemoryError:
        start = "not in this dump" if is_core() else "unreadable"
    return "%s=0x%x {%d bytes: %s}" % (name, int(value), whole, start)


def arguments_text(found):
    """[(name, value)] as a line; a value that is None was optimized out."""
    by_name = {name: value for name, value in found if value is not None}
    out = []
    for name, value in found:
        try:
            out.append(value_text(name, value, by_name)
                       if value is not None else name + "=<optimized out>")
        except (gdb.error, RuntimeError):
            out.append(name + "=<unreadable>")
    return ", ".join(out)


# --- on a stack -----------------------------------------------------------------------------------

class Place:
    """A function that has a frame as an argument, and which."""

    def __init__(self, thread, gdb_frame, function, frame):
        self.thread, self.level = thread, gdb_frame.level()
        self.function, self.frame = function, frame
        line = gdb_frame.find_sal()
        self.where = file_line(line.symtab.filename, line.line) if line.symtab else "?"
        self.arguments = None

    def text(self):
        return "%s at %s, on thread %d \"%s\"" % (self.function.name, self.where, self.thread.num,
                                                  self.thread.name or "?")


def is_fop(function, op):
    """True if it has the type of the operation's fop. Operations with the same arguments share a
    type."""
    try:
        return function.type.strip_typedefs() == type_named(op + "_fop").strip_typedefs()
    except Exception:
        return False


def handed(gdb_frame, function):
    """Frame, and what it was called with, of a function that was called with a frame; else None."""
    arguments = ([symbol for symbol in gdb_frame.block() if symbol.is_argument]
                 if gdb_frame.block().function == function else [])
    if not arguments:
        block = gdb_frame.block()
        while block is not None and block.function is None:
            block = block.superblock
        arguments = [symbol for symbol in block if symbol.is_argument] if block is not None else []
    if not arguments or not any(points_to(arguments[0].type, tag)
                                for tag in ("call_frame", "call", "answer")):
        return None
    value = value_of(gdb_frame, arguments[0])
    frame = frame_of_value(value) if value is not None else None
    return (frame, arguments) if frame is not None else None


def places_of_thread(thread):
    gdb_frame, depth = gdb.newest_frame(), 0
    while gdb_frame is not None and depth < DEPTH:
        function = gdb_frame.function()
        found = (handed(gdb_frame, function)
                 if function is not None and gdb_frame.type() == gdb.NORMAL_FRAME else None)
        if found is not None:
            place = Place(thread, gdb_frame, function, found[0])
            if is_fop(function, op_name(found[0]["op"])):
                place.arguments = arguments_text([(symbol.name, value_of(gdb_frame, symbol))
                                                  for symbol in found[1][2:]])
            yield place
        gdb_frame, depth = gdb_frame.older(), depth + 1


def all_places():
    """{address of a frame: [Place, the innermost first]}, of all threads."""
    found, was = {}, gdb.selected_thread()
    selected = gdb.selected_frame() if was is not None else None
    try:
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num):
            try:
                thread.switch()
                for place in places_of_thread(thread):
                    found.setdefault(int(place.frame), []).append(place)
            except (gdb.error, RuntimeError):
                continue
    finally:
        if was is not None:
            was.switch()
            selected.select()
    return found


# --- set aside ------------------------------------------------------------------------------------

def writable_memory():
    """(start, end) of what a process may have allocated."""
    if is_core():
        lines = gdb.execute("maintenance info sections ALLOC LOAD", to_string=True)
        found = re.findall(r"0x([0-9a-f]+)->0x([0-9a-f]+) at 0x[0-9a-f]+: "
                           r"load\w* ALLOC LOAD(?! READONLY)", lines)
        return [(int(a, 16), int(b, 16)) for a, b in found]
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as maps:
        lines = [line.split() for line in maps]
    return [tuple(int(part, 16) for part in line[0].split("-")) for line in lines
            if line[1].startswith("rw")
            and (len(line) < 6 or line[5] == "[heap]" or line[5].startswith("[anon"))]


def words_at(addresses):
    """Where, in all that memory, one of these words lies."""
    if not addresses:
        return
    wanted = re.compile(b"|".join(re.escape(struct.pack("@P", address)) for address in addresses))
    word, left, inferior = struct.calcsize("@P"), MOST, gdb.selected_inferior()
    for start, end in writable_memory():
        if end - start > MOST:
            continue # no allocations: what a sanitizer keeps about addresses
        for at in range(start, end, PIECE):
            size = min(PIECE, end - at)
            left -= size
            if left < 0:
                return
            try:
                piece = bytes(inferior.read_memory(at, size))
            except gdb.MemoryError:
                continue
            for match in wanted.finditer(piece):
                if (at + match.start()) % word == 0:
                    yield at + match.start()


def stub_of(address, frames):
    """The call_stub at the address, if it is one: frame and operation must match, and it must
    resume that operation."""
    try:
        stub = pointer_to("struct call_stub", address)
        op = op_name(stub["op"])
        frame = frames.get(int(stub["frame"]))
        if (frame is None or int(stub["op"]) != int(frame["op"])
            or function_name(stub["resume"]) != op + "_resume"):
            return None
        function = function_at(stub["resume"])
        return (stub
                if function is not None and function.symtab.filename.endswith("stub.c") else None)
    except (gdb.error, RuntimeError, AttributeError):
        return None


def stubs_for(frames):
    """{address of a frame: its call_stub *} of the call_frame_t * in a list that were set aside."""
    by_address = {int(frame): frame for frame in frames}
    found = {}
    try:
        for address in words_at(list(by_address)):
            stub = stub_of(address, by_address)
            if stub is not None:
                found[int(stub["frame"])] = stub
    except OSError:
        pass
    return found


def stub_arguments(stub):
    kept = stub["args"].cast(type_named("struct %s_args"
                                        % op_name(stub["op"])).pointer()).dereference()
    return arguments_text([(field.name, kept[field]) for field in kept.type.fields()])
