# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xl graph`: the tree of translators. `xl options VOLUME`: the values in force, and where each was
set."""

import gdb

from windlass_gdb.base import (Command, Nothing, Problem, each_of_array, each_of_list, enumerators,
                               pointer_to, say, string_at, type_named)
from windlass_gdb.finding import bridge_of_graph, graph, xlator_name, xlator_named, xlators


def settings_of(xlator):
    return [pointer_to("struct option_setting", one) for one in each_of_array(xlator["settings"])]


def setting_key(setting):
    option = setting["option"]
    return string_at(option["key"][0]) if int(option) else "?"


def who_set(setting):
    """"volfile", "command_line", "default": the enumerator's last part."""
    by = setting["by"]
    names = {field.enumval: field.name for field in by.type.strip_typedefs().fields()}
    name = names.get(int(by), "?")
    return name[len("SET_BY_"):].lower() if name.startswith("SET_BY_") else name


def said_options(xlator):
    """What isn't a default, as "directory=/tmp/export"."""
    return ["%s=%s" % (setting_key(one), string_at(one["text"])) for one in settings_of(xlator)
            if who_set(one) != "default"]


def loglevel(xlator):
    level = enumerators("gf_loglevel_t").get(int(xlator["loglevel"]), str(int(xlator["loglevel"])))
    return "" if level.endswith("UNSET") else ", log-level " + level.replace("GF_LOG_", "")


def graph_line(xlator):
    line = "%s (%s) 0x%x" % (xlator_name(xlator), string_at(xlator["type"]), int(xlator))
    if xlator["pass_through"]:
        line += ", passed through"
    said = said_options(xlator)
    return line + loglevel(xlator) + ("  " + " ".join(said) if said else "")


class Graph(Command):
    """The running graph as a tree.

    xl graph

The translators of the running graph from the top down, a child below its parent and further in:
name, type, address, and the options that are not defaults. A translator below several parents is
written out below the first."""

    name = "graph"

    def run(self, arguments):
        if arguments:
            raise Problem("it takes no argument, got '%s'" % arguments[0])
        top, self.seen = graph()["top"], set()
        if int(top) == 0:
            raise Nothing("the graph has no top yet")
        say("graph %d of %s%s" % (int(graph()["id"]), string_at(graph()["volfile"]["path"]) or "?",
                                  "" if graph()["active"] else ", not active"))
        bridge = bridge_of_graph(top)
        if bridge is not None:
            say(graph_line(bridge))
        self.show(top, 1 if bridge is not None else 0)

    def show(self, xlator, depth):
        again = int(xlator) in self.seen
        self.seen.add(int(xlator))
        try:
            say("  " * depth + graph_line(xlator) + (", see above" if again else ""))
            children = ([] if again or depth > 200
                        else [one["xlator"]
                              for one in each_of_list(xlator["children"], "next", 10000)])
        except (gdb.error, RuntimeError) as problem:
            say("  " * depth + "0x%x, which can't be read: %s" % (int(xlator), problem))
            return
        for child in children:
            self.show(child, depth + 1)


# --- options --------------------------------------------------------------------------------------

def field_text(xlator, option):
    """The value of an option in the translator's private struct; None where it keeps none, or it
    cannot be read."""
    size, private = int(option["size"]), xlator["private"]
    if size == 0 or int(private) == 0:
        return None
    kind = enumerators("enum option_type").get(int(option["type"]), "")[len("OPTION_"):]
    address = int(private) + int(option["offset"])
    try:
        return field_of_kind(kind, address, size, option)
    except (gdb.error, RuntimeError):
        return None


def field_of_kind(kind, address, size, option):
    def read(name):
        return pointer_to(name, address).dereference()

    if kind == "BOOL":
        return "on" if read("_Bool") else "off"
    if kind == "ENUM":
        return string_at(option["values"][int(read("int"))])
    if kind == "INT":
        return str(int(read("long" if size == 8 else "int")))
    if kind in ("DOUBLE", "PERCENT"):
        return "%g" % float(read("double"))
    if kind == "SIZE":
        return "%d bytes" % int(read("unsigned long"))
    if kind == "TIME":
        return "%g s" % (int(read("long")) / 1e9)
    if kind in ("PATH", "STRING", "XLATOR"):
        text = string_at(
            gdb.Value(address).cast(type_named("char").pointer().pointer()).dereference())
        return "unset" if text is None else '"%s"' % text
    if kind == "PERCENT_OR_SIZE":
        share = read("struct option_share")
        return "%g %s" % (float(share["amount"]), "%" if share["percent"] else "bytes")
    return None


def where_set(setting, path):
    by = who_set(setting)
    if by == "volfile":
        return "%s:%d:%d" % (path, int(setting["line"]), int(setting["column"]))
    return by.replace("_", " ")


class Options(Command):
    """The options of a volume, and who set them.

    xl options VOLUME

Each option of a translator: its given value, where it was set (the volfile's line and column, the
command line, or the default), and in brackets the value in its private struct now."""

    name = "options"

    def run(self, arguments):
        if len(arguments) != 1:
            names = ", ".join(map(xlator_name, xlators()))
            raise Problem("it takes the name of a volume; there are: %s" % names)
        xlator = xlator_named(arguments[0])
        path = string_at(graph()["volfile"]["path"]) or "the volfile"
        say("%s (%s)" % (xlator_name(xlator), string_at(xlator["type"])))
        for setting in settings_of(xlator):
            said, held = string_at(setting["text"]), field_text(xlator, setting["option"])
            say("  %-24s %-16s %s%s" % (setting_key(setting), said if said is not None else "-",
                                        where_set(setting, path),
                                        "  [%s]" % held if held is not None else ""))

    def complete(self, text, word):
        try:
            return [name for name in map(xlator_name, xlators()) if name.startswith(word)]
        except Exception:
            return []


Graph()
Options()
