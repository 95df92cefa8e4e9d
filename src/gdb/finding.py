# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the graph, requests, frames and inodes are, in a process or in what is left of one."""

import gdb

from windlass_gdb.base import (Nothing, Problem, each_of_array, each_of_list, file_static,
                               need_process, offset_of, points_to, pointer_to,
                               string_at, type_named)

DEPTH = 4096  # names in a path; a broken tree might have no end


# --- the graph ------------------------------------------------------------------------------------

def program():
    """main.c's struct program, or None in other programs."""
    return file_static("main", "the_program")


def graph():
    """The struct graph * of this process: main.c's, or that of the request at work."""
    need_process()
    main = program()
    if main is not None and int(main["graph"]):
        return main["graph"]
    for root in requests():
        for frame in frames_of(root):
            found = frame["this"]["graph"] if int(frame["this"]) else 0
            if int(found):
                return found
    raise Nothing("there is no graph (yet): it is there from graph_load until the mount ends")


def xlators():
    return [pointer_to("xlator_t", one) for one in each_of_array(graph()["xlators"])]


def bridge_of_graph(top):
    """The bridge's translator, which stands above the top while it is mounted; or None."""
    parents = top["parents"]
    return parents["xlator"] if int(parents) else None


def xlator_name(xlator):
    """As messages have it; a translator that isn't one, too."""
    if int(xlator) == 0:
        return "nobody"
    try:
        return string_at(xlator["name"]) or "unnamed"
    except gdb.MemoryError:
        return "0x%x, which is no translator" % int(xlator)


def xlator_named(name):
    found = xlators()
    for one in found:
        if string_at(one["name"]) == name:
            return one
    raise Problem("there is no volume '%s' in this graph; there are: %s"
                  % (name, ", ".join(map(xlator_name, found))))


# --- requests -------------------------------------------------------------------------------------

def stacks():
    """Every call_stack_t * there is, in use or not."""
    pool = file_static("stack_done", "stack_pool")
    if pool is None:
        raise Problem("there is no debug information about requests: this isn't windlass, or it "
                      "has none; for a package it is in windlass-dbgsym or windlass-debuginfo")
    return each_of_list(pool["all"], "all_next")


def requests():
    """Those in use, by number."""
    return sorted((root for root in stacks() if int(root["unique"])),
                  key=lambda root: int(root["unique"]))


def strand_frames(first):
    """The frame, and those it wound on, one below the other, as far as they were used."""
    for frame in each_of_list(first, "slot", 4096):
        yield frame
        if not int(frame["wound"]):
            break


def frames_of(root):
    """All used frames of a request: those of the first one's strand, then those of frames that
    wound more than once."""
    for frame in strand_frames(root["frames"][0].address):
        yield frame
    for strand in each_of_list(root["strands"], "next"):
        for frame in strand_frames(strand["frames"][0].address):
            yield frame


def is_awaited(frame):
    """It was wound and is not answered yet. The first frame was not wound, so it never is."""
    return int(frame["op"]) != 0 and not int(frame["complete"])


def awaited_frames(root):
    return [frame for frame in frames_of(root) if is_awaited(frame)]


def frame_at(address):
    """The call_frame_t * at an address, if it belongs to a request; else None. So garbage is never
    followed."""
    frame_size, stack_size = type_named("call_frame_t").sizeof, type_named("call_stack_t").sizeof
    first = offset_of("call_stack_t", "frames")
    for root in stacks():
        inside = address - int(root) - first
        arrays = [int(root) + first] if 0 <= inside < stack_size else \
            [int(strand["frames"].address) for strand in each_of_list(root["strands"], "next")]
        for start in arrays:
            holder = "call_stack_t" if start == int(root) + first else "struct strand"
            count = type_named(holder)["frames"].type.range()[1]
            if (start <= address <= start + count * frame_size
                and (address - start) % frame_size == 0):
                return pointer_to("call_frame_t", address)
    return None


def frame_of_value(value):
    """The frame that an argument or variable stands for: it is one, or a call's, or an answer's;
    else None."""
    kind = value.type
    if points_to(kind, "call_frame"):
        return frame_at(int(value))
    for struct in ("call", "answer"):
        if points_to(kind, struct) and int(value):
            return frame_at(int(value["frame"]))
    return None


def variables(gdb_frame, arguments_only=False):
    """The symbols that have a value in a stack frame, the innermost first. A variable has none
    before the line after its own."""
    line = gdb_frame.find_sal().line
    try:
        block = gdb_frame.block()
    except RuntimeError:
        return
    while block is not None:
        for symbol in block:
            if symbol.is_argument or (symbol.is_variable and not arguments_only
                                      and symbol.line < line):
                yield symbol
        if block.function is not None:
            return
        block = block.superblock


def value_of(gdb_frame, symbol):
    """A variable's value or, where that was optimized out, that of its argument on entry; else
    None."""
    try:
        value = gdb_frame.read_var(symbol)
        if not value.is_optimized_out:
            value.fetch_lazy()
            return value
        if symbol.is_argument:
            gdb_frame.select()
            value = gdb.parse_and_eval(symbol.name + "@entry")
            return None if value.is_optimized_out else value
    except (gdb.error, RuntimeError, ValueError):
        pass
    return None


def frame_in(gdb_frame):
    """The call_frame_t * that a function has in its arguments or, failing these, in its variables;
    or None."""
    for arguments_only in (True, False):
        for symbol in variables(gdb_frame, arguments_only):
            if (points_to(symbol.type, "call_frame") or points_to(symbol.type, "call")
                or points_to(symbol.type, "answer")):
                value = value_of(gdb_frame, symbol)
                try:
                    found = frame_of_value(value) if value is not None else None
                except gdb.error:
                    found = None
                if found is not None:
                    return found
    return None


def nearest(find):
    """The result of find (gdb_frame) for the selected stack frame, or for the first above it that
    has one; else None."""
    try:
        selected = gdb.selected_frame()
    except gdb.error:
        return None
    older, found, depth = selected, None, 0
    while older is not None and found is None and depth < 256:
        found = find(older)
        older, depth = older.older(), depth + 1
    selected.select()
    return found


def selected_request_frame():
    """The call_frame_t * of the selected stack frame, or of the first above it that has one; else
    None."""
    return nearest(frame_in)


def library_request_in(gdb_frame):
    """The fuse_req_t that a function has as an argument, which is `top` in the root of its request;
    or None."""
    for symbol in variables(gdb_frame, arguments_only=True):
        value = value_of(gdb_frame, symbol) if points_to(symbol.type, "fuse_req") else None
        if value is not None and int(value):
            return int(value)
    return None


def selected_library_request():
    return nearest(library_request_in)


# --- inodes ---------------------------------------------------------------------------------------

def itable():
    table = graph()["itable"]
    if int(table) == 0:
        raise Nothing("the graph has no table of inodes yet")
    return table


def slots_in_chunk():
    return type_named("struct slot_chunk")["slots"].type.range()[1] + 1


def inode_of_slot(slot):
    """The inode that has a slot of the table, or None."""
    table, in_chunk = itable(), slots_in_chunk()
    if not 0 <= slot < int(table["n_slots"]) or not int(table["chunks"][slot // in_chunk]):
        return None
    word = int(table["chunks"][slot // in_chunk]["slots"][slot % in_chunk]["word"])
    return pointer_to("inode_t", word) if word and not word & 1 else None


def inode_of_nodeid(nodeid):
    inode = inode_of_slot(nodeid & 0xffffffff)
    if inode is not None and nodeid_of(inode) == nodeid:
        return inode
    raise Problem("the kernel knows no inode by the number %d" % nodeid)


def inode_path(inode):
    """The path from the root of the mount by one of its names; "<gfid:...>" in place of a missing
    name."""
    parts, root = [], inode["table"]["root"]
    while int(inode) != int(root) and len(parts) < DEPTH:
        name = inode["names"]
        if not int(name):
            break
        parts.append(string_at(name["name"]) or "?")
        inode = name["parent"]
    else:
        return "/" + "/".join(reversed(parts))
    return "/".join(["<gfid:%s>" % gfid_text(inode["gfid"])] + list(reversed(parts)))


def gfid_text(gfid):
    b = "".join("%02x" % int(gfid["b"][i]) for i in range(16))
    return "-".join((b[:8], b[8:12], b[12:16], b[16:20], b[20:]))


def nodeid_of(inode):
    """The number that the kernel knows it by."""
    return int(inode["generation"]) << 32 | int(inode["slot"])
