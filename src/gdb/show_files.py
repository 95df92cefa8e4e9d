# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xl inode`: one of the inodes in the table, by whatever names it. `xl fd`: an open file."""

import re

import gdb

from windlass_gdb.base import (Command, Problem, address_in, each_of_list, enumerators, pointer_to,
                               say, string_at, type_named)
from windlass_gdb.finding import (gfid_text, inode_of_nodeid, inode_of_slot, inode_path, itable,
                                  nodeid_of, slots_in_chunk,
                                  xlator_name, xlators)
from windlass_gdb.printers import summary

def inodes():
    """Every inode of the table, by slot."""
    table, in_chunk = itable(), slots_in_chunk()
    word = type_named("struct slot").sizeof
    for first in range(0, int(table["n_slots"]), in_chunk):
        chunk = table["chunks"][first // in_chunk]
        if int(chunk) == 0:
            return
        memory = gdb.selected_inferior().read_memory(int(chunk), in_chunk * word)
        for number in memoryview(bytes(memory)).cast("Q"):
            if number and not number & 1:
                yield pointer_to("inode_t", number)


def inode_of_gfid(text):
    wanted = text.lower()
    for inode in inodes():
        if gfid_text(inode["gfid"]) == wanted:
            return inode
    raise Problem("no inode in the table has the gfid %s" % wanted)


def names_of(inode):
    return each_of_list(inode["names"], "next", 100000)


def inode_of_path(path):
    """Looks up the names in the table, from the end up: the table has no list of a directory's
    names, only a hash."""
    parts = [part for part in path.split("/") if part]
    root = itable()["root"]
    if not parts:
        return root
    for inode in inodes():
        if is_at(inode, parts, int(root)):
            return inode
    raise Problem("'%s' is not in the table: paths begin at the mount, and nobody has asked for "
                  "this one lately" % path)


def is_at(inode, parts, root):
    if not parts:
        return int(inode) == root
    return any(string_at(name["name"]) == parts[-1] and is_at(name["parent"], parts[:-1], root)
               for name in names_of(inode))


def is_inode(inode):
    """True if the table knows it, in the slot that it names. So garbage is never taken for an
    inode."""
    try:
        known = inode_of_slot(int(inode["slot"]))
    except gdb.MemoryError:
        return False
    return known is not None and int(known) == int(inode)


def inode_at(address):
    inode = pointer_to("inode_t", address)
    if not is_inode(inode):
        raise Problem("there is no inode at 0x%x" % address)
    return inode


def find_inode(text):
    if re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
        return inode_of_gfid(text)
    if text.startswith("/"):
        return inode_of_path(text)
    if re.fullmatch(r"[0-9]+", text):
        return inode_of_nodeid(int(text))
    return inode_at(address_in(text))


def contexts(context_at, slot_field):
    """What each translator keeps: "posix 0x7f...", with what the address is of where gdb knows."""
    for xlator in xlators():
        slot = int(xlator[slot_field])
        if slot >= 0:
            kept = int(context_at(slot))
            say("  kept by   %s: %s" % (xlator_name(xlator), "0x%x" % kept if kept else "-"))


class Inode(Command):
    """An inode of the table.

    xl inode ADDRESS | PATH | GFID | NODEID

An inode: by its address (an expression such as fd->inode), by a path from the root of the mount (as
far as the table of inodes knows it), by gfid, or by the kernel's number for it (decimal; 1 is the
root)."""

    name = "inode"

    def run(self, arguments):
        if not arguments:
            raise Problem("it takes an address, a path, a gfid, or the kernel's number")
        inode = find_inode(" ".join(arguments))
        kind = enumerators("enum ia_type").get(int(inode["ia_type"]), "?")
        say("inode 0x%x: %s" % (int(inode), inode_path(inode)))
        say("  gfid      %s, %s" % (gfid_text(inode["gfid"]),
                                    kind if int(inode["ia_type"]) else "not linked yet"))
        say("  nodeid    %d, told to the kernel %d times and not forgotten"
            % (nodeid_of(inode), int(inode["nlookup"])))
        say("  refs      %d%s" % (int(inode["refs"]),
                                  ", waits among the forgotten" if int(inode["forgotten"]) else ""))
        for name in names_of(inode):
            say("  name      '%s' in %s" % (string_at(name["name"]), inode_path(name["parent"])))
        contexts(lambda slot: inode["ctx"][slot >> 16][slot & 0xffff], "inode_slot")


def is_fd(fd):
    """One has references, and an inode unless it is about to be created."""
    try:
        return (int(fd["refs"]) > 0
                and (is_inode(fd["inode"]) if int(fd["inode"]) else int(fd["keepers"]) < 1000))
    except gdb.MemoryError:
        return False


class Fd(Command):
    """An open file or directory.

    xl fd ADDRESS

An open file or directory, by its address or an expression: its inode, flags, the process that
opened it, and the data that translators keep with it."""

    name = "fd"

    def run(self, arguments):
        if not arguments:
            raise Problem("it takes an address, such as fd or frame->local->fd")
        address = address_in(" ".join(arguments))
        fd = pointer_to("fd_t", address)
        if not is_fd(fd):
            raise Problem("there is no fd at 0x%x" % address)
        inode = fd["inode"]
        say("fd 0x%x: %s" % (address, summary(fd.dereference())))
        if int(inode):
            say("  inode     0x%x, gfid %s" % (int(inode), gfid_text(inode["gfid"])))
        contexts(lambda slot: fd["ctx"][slot], "fd_slot")


Inode()
Fd()
