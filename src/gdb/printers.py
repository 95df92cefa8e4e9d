# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Pretty printers: gfid_t, loc_t, struct iatt, dict_t, iobuf and iobref, frames, requests, inodes,
fds, translators, GString.

Each value has a line that describes it; `p/r` shows the bare struct. A half-built value is marked
as such.
"""

import stat as modes

import gdb
import gdb.printing

from windlass_gdb.base import each_of_array, enumerators, has_field, op_name, string_at
from windlass_gdb.finding import gfid_text, inode_path, nodeid_of, xlator_name

PRINTERS = {}


def prints(*tags, fields=True):
    """The function below says in a line what a struct with one of these tags is."""
    def add(function):
        for tag in tags:
            PRINTERS[tag] = (function, fields)
        return function
    return add


def summary(value):
    """The line of a struct; None where there is none for its type."""
    found = PRINTERS.get(value.type.strip_typedefs().unqualified().tag)
    if found is None:
        return None
    try:
        return found[0](value)
    except Exception as problem:
        return "<unreadable: %s>" % (str(problem).splitlines() or ["?"])[0]


def named_fields(value):
    """The fields, those of unnamed structs and unions in it included."""
    for field in value.type.strip_typedefs().fields():
        if field.name:
            yield field.name, value[field]
        else:
            yield from named_fields(value[field])


class Plain:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return summary(self.value)


class WithFields(Plain):
    def children(self):
        try:
            yield from named_fields(self.value)
        except (gdb.error, RuntimeError):
            return


class Lookup(gdb.printing.PrettyPrinter):
    def __call__(self, value):
        kind = value.type.strip_typedefs().unqualified()
        if kind.code != gdb.TYPE_CODE_STRUCT or kind.tag not in PRINTERS:
            return None
        return (WithFields if PRINTERS[kind.tag][1] else Plain)(value)


# --- what each is ---------------------------------------------------------------------------------

@prints("gfid", fields=False)
def gfid(value):
    return gfid_text(value)


@prints("loc")
def loc(value):
    inode, parent, name = value["inode"], value["parent"], string_at(value["name"])
    if int(parent) and name is not None:
        path = inode_path(parent).rstrip("/") + "/" + name
    elif int(inode):
        path = inode_path(inode)
    else:
        path = "nowhere"
    return path + (" (gfid %s)" % gfid_text(inode["gfid"]) if int(inode) else "")


def mode_text(value):
    kind = enumerators("enum ia_type").get(int(value["ia_type"]), "type %d" % int(value["ia_type"]))
    letters = modes.filemode(int(value["ia_prot"]) & 0o7777)[1:]
    return "%s %04o (%s)" % (kind, int(value["ia_prot"]), letters)


@prints("iatt")
def iatt(value):
    if int(value["ia_type"]) == 0 and int(value["ia_nlink"]) == 0 and int(value["ia_ino"]) == 0:
        return "no attributes"
    return "%s, %d:%d, size %d, %d blocks (%d bytes), links %d, ino %d, gfid %s" % (
        mode_text(value), int(value["ia_uid"]), int(value["ia_gid"]), int(value["ia_size"]),
        int(value["ia_blocks"]),
        512 * int(value["ia_blocks"]), int(value["ia_nlink"]), int(value["ia_ino"]),
        gfid_text(value["ia_gfid"]))


def bytes_text(pointer, size):
    """Bytes as text where they are, else as numbers."""
    shown = bytes(gdb.selected_inferior().read_memory(int(pointer), min(size, 64))) if size else b""
    more = "..." if size > len(shown) else ""
    if shown and all(32 <= b < 127 or b in b"\t\n\r" for b in shown):
        return '"%s"%s' % (shown.decode().translate({9: "\\t", 10: "\\n", 13: "\\r"}), more)
    return ("%d bytes%s"
            % (size, " " + shown[:16].hex() + ("..." if size > 16 else "") if shown else ""))


def pairs(dictionary):
    for pair in each_of_array(dictionary["pairs"]):
        pair = pair.cast(gdb.lookup_type("struct pair").pointer())
        yield string_at(pair["key"]), bytes_text(pair["value"].address, int(pair["size"]))


@prints("dict", fields=False)
def dictionary(value):
    return "%s, %d ref%s" % ("{%s}" % ", ".join("%s = %s" % pair for pair in pairs(value)),
                             int(value["refs"]),
                             "" if int(value["refs"]) == 1 else "s")


def references(value):
    n = int(value["refs"])
    return "%d reference%s" % (n, "" if n == 1 else "s")


@prints("iobuf")
def iobuf(value):
    return "%d bytes at 0x%x, %s" % (int(value["size"]), int(value["ptr"]), references(value))


@prints("iobref")
def iobref(value):
    used, room = int(value["used"]), value["bufs"].type.range()[1] + 1
    if not 0 <= used <= room:
        return "<no iobref: %d of %d buffers>" % (used, room)
    inside = ", ".join("{%s}" % iobuf(value["bufs"][i].dereference()) for i in range(used))
    return "%s: [%s]" % (references(value), inside)


@prints("inode")
def inode(value):
    return "%s, nodeid %d, gfid %s, %s, %d lookups" % (
        inode_path(value.address), nodeid_of(value), gfid_text(value["gfid"]), references(value),
        int(value["nlookup"]))


@prints("fd")
def fd(value):
    where = inode_path(value["inode"]) if int(value["inode"]) else "no inode yet"
    return "%s, flags 0%o, opened by process %d, %s" % (where, int(value["flags"]),
                                                        int(value["pid"]), references(value))


def state_text(frame):
    if int(frame["op"]) == 0:
        return "asks"
    if not int(frame["complete"]):
        return "waits"
    failed = has_field(frame, "op_errno") and int(frame["op_errno"])
    return "answered" + (", errno %d" % failed if failed else "")


@prints("call_frame")
def call_frame(value):
    parent = xlator_name(value["parent"]["this"]) + " -> " if int(value["parent"]) else ""
    op = op_name(value["op"]) + " " if int(value["op"]) else ""
    return "%s%s%s (%s)" % (op, parent, xlator_name(value["this"]), state_text(value))


@prints("call_stack")
def call_stack(value):
    if int(value["unique"]) == 0:
        return "no request"
    return "request %d %s, uid %d gid %d pid %d" % (int(value["unique"]), op_name(value["op"]),
                                                    int(value["uid"]),
                                                    int(value["gid"]), int(value["pid"]))


@prints("xlator")
def xlator(value):
    return "'%s' (%s)" % (string_at(value["name"]) or "unnamed", string_at(value["type"]))


@prints("_GString", fields=False)
def gstring(value):
    return '"%s" (%d bytes)' % (string_at(value["str"]), int(value["len"]))


gdb.printing.register_pretty_printer(None, Lookup("windlass"), replace=True)
