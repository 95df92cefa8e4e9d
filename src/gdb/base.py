# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Shared by the other files: commands whose mistakes are messages, and questions to the debug
information. No file here keeps a list of operations, fields or constants: all come from DWARF.
"""

import functools

import gdb


class Problem(Exception):
    """What the user is told; the command that met it is named before it."""


class Nothing(Problem):
    """There is nothing to show at this moment. That is a message and no error, since an error ends
    the script that asks (gdb -x, -batch)."""


class Command(gdb.Command):
    """`xl NAME`: a subclass has name and run (arguments). Any error is one line, never a
    traceback."""

    name = None

    def __init__(self):
        super().__init__("xl " + self.name, gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        try:
            self.run(gdb.string_to_argv(argument))
        except KeyboardInterrupt:
            raise gdb.GdbError("xl %s: interrupted" % self.name)
        except Nothing as problem:
            say("xl %s: %s" % (self.name, problem))
        except Problem as problem:
            raise gdb.GdbError("xl %s: %s" % (self.name, problem))
        except gdb.GdbError:
            raise
        except Exception as problem:
            raise gdb.GdbError("xl %s: what is there can't be made sense of: %s"
                               % (self.name, text_of(problem)))


class Prefix(gdb.Command):
    """Shows translators, requests, inodes and files of Windlass, and follows a request."""

    def __init__(self):
        super().__init__("xl", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)

    def invoke(self, argument, from_tty):
        if argument:
            raise gdb.GdbError("xl: there is no command '%s'; `help xl` lists them"
                               % argument.split()[0])
        gdb.execute("help xl")


def say(text=""):
    gdb.write(text + "\n")


def text_of(problem):
    """An exception as one line."""
    lines = str(problem).splitlines()
    return lines[0] if lines else type(problem).__name__


# --- the debug information ------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def type_named(name):
    """A type: "struct inode", "call_frame_t"."""
    try:
        return gdb.lookup_type(name)
    except gdb.error:
        raise Problem("there is no debug information about '%s': this isn't windlass, or it has "
                      "none" % name)


def pointer_to(name, address):
    return gdb.Value(int(address)).cast(type_named(name).pointer())


@functools.lru_cache(maxsize=None)
def enumerators(name):
    """{number: name} of an enum."""
    return {field.enumval: field.name for field in type_named(name).fields()}


def op_name(number):
    """"writev" of 17; what isn't one as a number."""
    name = enumerators("enum fop").get(int(number))
    return name[len("FOP_"):] if name and name.startswith("FOP_") else str(int(number))


@functools.lru_cache(maxsize=None)
def op_names():
    """The names of all operations: the fields of struct xlator_fops."""
    return [field.name for field in type_named("struct xlator_fops").fields()]


@functools.lru_cache(maxsize=None)
def offset_of(struct, field):
    for one in type_named(struct).fields():
        if one.name == field:
            return one.bitpos // 8
    raise Problem("'%s' has no field '%s': these commands and this windlass don't belong together"
                  % (struct, field))


def has_field(value_or_type, field):
    kind = value_or_type.type if isinstance(value_or_type, gdb.Value) else value_or_type
    try:
        return field in kind.strip_typedefs().keys()
    except TypeError:
        return False


def file_static(function, name):
    """The static variable of that name in the file of the (global) function; None where there is
    none."""
    symbol = gdb.lookup_global_symbol(function)
    if symbol is None or symbol.symtab is None:
        return None
    for one in symbol.symtab.static_block():
        if one.name == name and one.is_variable:
            return one.value()
    return None


def function_at(address):
    """The symbol of the function that has this address, or None."""
    try:
        block = gdb.block_for_pc(int(address))
    except (RuntimeError, gdb.error):
        return None
    while block is not None and block.function is None:
        block = block.superblock
    return block.function if block is not None else None


def function_name(address):
    """The name of a function as source has it, or what else is known of the address."""
    function = function_at(address)
    if function is not None:
        return function.name
    return "0x%x" % int(address) if int(address) else "nobody"


def same_type(a, b):
    return a.strip_typedefs().unqualified() == b.strip_typedefs().unqualified()


def points_to(kind, name):
    """Is this type a pointer to the named struct, whatever it is called?"""
    kind = kind.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_PTR:
        return False
    target = kind.target().strip_typedefs().unqualified()
    return target.code == gdb.TYPE_CODE_STRUCT and target.tag == name


def forget_types(event):
    """Another program, or another build of it, may have other ones."""
    for cached in (type_named, enumerators, op_names, offset_of):
        cached.cache_clear()


gdb.events.new_objfile.connect(forget_types)
gdb.events.clear_objfiles.connect(forget_types)

# --- the process ----------------------------------------------------------------------------------

def need_process():
    """Something whose memory can be read: alive, or a core dump."""
    if gdb.selected_inferior().pid == 0:
        raise Problem("there is no process: `run` it, `attach` to one, or load a core dump with "
                      "`core-file`")


def is_core():
    connection = getattr(gdb.selected_inferior(), "connection", None)
    return connection is not None and connection.type == "core"


def need_running():
    need_process()
    if is_core():
        raise Problem("a core dump can't run")


def address_in(text):
    """What an argument that is an expression comes to, as a number."""
    try:
        return int(gdb.parse_and_eval(text))
    except (gdb.error, RuntimeError, ValueError) as problem:
        raise Problem("'%s' is no address: %s" % (text, text_of(problem)))


def string_at(pointer, limit=4096):
    """A C string, or None for NULL; what can't be read says so."""
    if int(pointer) == 0:
        return None
    try:
        return bounded_string(pointer, limit)
    except (gdb.error, RuntimeError):
        return "<unreadable>"


def bounded_string(pointer, limit):
    """At most so many bytes: what isn't a string may have no end."""
    inferior, address, out = gdb.selected_inferior(), int(pointer), b""
    while len(out) < limit:
        size = min(64 - (address + len(out)) % 64, limit - len(out))
        piece = bytes(inferior.read_memory(address + len(out), size))
        end = piece.find(b"\0")
        out += piece if end < 0 else piece[:end]
        if end >= 0:
            break
    return "".join(c if c.isprintable() else "\\%03o" % ord(c)
                   for c in out.decode("utf-8", "backslashreplace"))


def file_line(path, line):
    """As log lines have it: without the folders."""
    return "%s:%d" % (path.rsplit("/", 1)[-1] if path else "?", line)


def each_of_list(first, link, limit=1000000):
    """A linked list; one that doesn't end, or leads to where nothing is, ends here."""
    seen = set()
    while int(first) and int(first) not in seen and len(seen) < limit:
        seen.add(int(first))
        yield first
        first = first[link]


def each_of_array(pointer_array):
    """The pointers of a GPtrArray."""
    if int(pointer_array) == 0:
        return
    count, data = int(pointer_array["len"]), pointer_array["pdata"]
    for i in range(min(count, 1 << 20)):
        yield data[i]


Prefix()
