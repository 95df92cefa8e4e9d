#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the pictures of the documents, from what Windlass says of a mount that has work to do.

    draw.py WINDLASS OUT-DIR

It makes a mount in a temporary folder, with a slow disk below caches, lets a program use it, and
writes graph.svg, histogram.svg, flame.svg and timeline.svg. Takes /dev/fuse; `make pictures` runs
it, and the pictures are in the tree, so that the documents are made without."""

import html
import json
import os
import re
import subprocess
import sys
import tempfile

VOLFILE = """
volume disk
    type storage/posix
    option directory %(top)s/export
end-volume
volume slow-disk
    type debug/delay-gen
    option enable readv,fsync
    option delay-duration 400
    option delay-percentage 100
    subvolumes disk
end-volume
volume write-behind
    type performance/write-behind
    subvolumes slow-disk
end-volume
volume quick-read
    type performance/quick-read
    subvolumes write-behind
end-volume
volume md-cache
    type performance/md-cache
    subvolumes quick-read
end-volume
"""

STYLE = """<style>
text { fill: #1c2733; } .soft { fill: #5a6773; } .page { fill: #ffffff; }
.title { font-size: 16px; font-weight: 600; } .line { stroke: #d9e0e7; }
.mono { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
.c0 { fill: #9cc3e5; } .c1 { fill: #b6d7a0; } .c2 { fill: #f2d388; } .c3 { fill: #f0a987; }
.c4 { fill: #c9b3e0; } .c5 { fill: #d5dbe1; } .back { stroke-dasharray: 3 2; stroke: #5a6773; }
.bar text, text.bar { fill: #14202b; }
@media (prefers-color-scheme: dark) {
text { fill: #e4eaf0; } .soft { fill: #9aa7b4; } .page { fill: #14191f; } .line { stroke: #303a45; }
.c0 { fill: #5b93c4; } .c1 { fill: #7fae62; } .c2 { fill: #cfa63f; } .c3 { fill: #cf7a52; }
.c4 { fill: #9a7fbd; } .c5 { fill: #74808c; } .back { stroke: #e4eaf0; }
}
</style>"""


class Svg:
    """A picture in the colours of `windlass graph --svg`, and of the documents."""

    def __init__(self, width, height, title, subtitle):
        self.width, self.height = width, height
        self.parts = []
        self.text(24, 28, title, "title")
        self.text(24, 46, subtitle, "soft")

    def text(self, x, y, text, style="", more=""):
        self.parts.append('<text x="%.1f" y="%.1f" class="%s" %s>%s</text>' % (
            x, y, style, more, html.escape(text)))

    def bar(self, x, y, width, height, style, tip, label=""):
        """label: what is written in it, as far as there is room."""
        room = int((width - 8) / 6.9)
        self.parts.append('<g><title>%s</title><rect x="%.2f" y="%.1f" width="%.2f" height="%.1f" '
                          'rx="2" class="%s"/>' % (html.escape(tip), x, y, max(width, .8), height,
                                                   style))
        if room >= min(len(label), 8) > 0:
            text = label if len(label) <= room else label[:room - 1] + "\u2026"
            self.text(x + 5, y + height / 2 + 4, text, "bar")
        self.parts.append("</g>")

    def line(self, x1, y1, x2, y2):
        self.parts.append('<path class="line" d="M %.1f %.1f L %.1f %.1f"/>' % (x1, y1, x2, y2))

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write('<?xml version="1.0" encoding="UTF-8"?>\n'
                       "<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->\n"
                       '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
                       'viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12">\n'
                       '%s\n<rect class="page" width="100%%" height="100%%"/>\n%s\n</svg>\n' % (
                           self.width, self.height, self.width, self.height, STYLE,
                           "\n".join(self.parts)))


def duration(nanoseconds):
    for limit, unit in ((1e3, "ns"), (1e6, "\u00b5s"), (1e9, "ms"), (1e12, "s")):
        if nanoseconds < limit:
            value = nanoseconds / (limit / 1e3)
            return "%.3g %s" % (value, unit) if value < 100 else "%d %s" % (value, unit)
    return "%d s" % (nanoseconds / 1e9)


class Colours:
    """One for each translator, the same in all pictures."""

    ORDER = ["md-cache", "quick-read", "write-behind", "slow-disk", "disk"]

    @classmethod
    def of(cls, name):
        volume = name.split(":")[0]
        return "c%d" % (cls.ORDER.index(volume) if volume in cls.ORDER else 5)


# --- the flame graph ---


class Stack:
    """A node of the flame graph: what came here, and from here on."""

    def __init__(self):
        self.own, self.below = 0, {}

    def all(self):
        return self.own + sum(one.all() for one in self.below.values())


def flame(folded, path):
    root, depth = Stack(), 0
    for row in folded.splitlines():
        names, own = row.rsplit(" ", 1)
        node = root
        for name in names.split(";"):
            node = node.below.setdefault(name, Stack())
        node.own += int(own)
        depth = max(depth, names.count(";") + 1)
    row, width, whole = 24, 960, root.all()
    svg = Svg(width, 70 + depth * row + 14, "Where the time went",
              "each bar is a translator with an operation, as wide as its time; %s in all; "
              "the kernel is below" % duration(whole))
    scale = (width - 48) / whole

    def draw(node, x, level):
        for name, one in sorted(node.below.items(), key=lambda item: -item[1].all()):
            time = one.all()
            svg.bar(x, 62 + (depth - 1 - level) * row, time * scale - .6, row - 2, Colours.of(name),
                    "%s: %s, own %s" % (name, duration(time), duration(one.own)),
                    name if level else "fuse: %s" % duration(time))
            draw(one, x, level + 1)
            x += time * scale
    draw(root, 24, 0)
    svg.write(path)


# --- the timeline ---


def window(events):
    """The requests about one file that was written and synced: (first, end) in microseconds."""
    about = [one for one in events if one.get("cat") == "request"
             and one["args"].get("path") == "/report"]
    return min(one["ts"] for one in about), max(one["ts"] + one["dur"] for one in about)


def timeline(recording, path):
    events = [one for one in recording["traceEvents"] if one["ph"] == "X"]
    begin, end = window(events)
    events = [one for one in events if one["ts"] >= begin and one["ts"] + one["dur"] <= end + 1]
    background = {one["args"]["request"] for one in events if "background" in str(one.get("cat"))}
    rows = ["request"] + Colours.ORDER
    row, left, width = 34, 118, 960
    scale = (width - left - 24) / (end - begin)
    svg = Svg(width, 62 + len(rows) * row + 56, "A program writes a file, and syncs it",
              "each row is a translator, each bar the time it had a request; dashed: in the background, "
              "after the program has its answer")
    top = 64
    for at, name in enumerate(rows):
        svg.text(left - 10, top + at * row + 20, "the kernel" if not at else name, "",
                 'text-anchor="end"')
        svg.line(left, top + (at + 1) * row - 1, width - 24, top + (at + 1) * row - 1)
    for one in events:
        name = "request" if one.get("cat") == "request" else one["name"].split(":")[0]
        if name not in rows:
            continue
        y = top + rows.index(name) * row + 4
        style = Colours.of(name) + (" back" if one["args"]["request"] in background else "")
        svg.bar(left + (one["ts"] - begin) * scale, y, one["dur"] * scale, row - 9, style,
                "%s: %s" % (one["name"], duration(one["dur"] * 1e3)),
                one["name"].split(" ")[0] if name == "request" else one["name"].split(": ")[-1])
    bottom = top + len(rows) * row
    steps = 6
    for at in range(steps + 1):
        x = left + (width - left - 24) * at / steps
        svg.line(x, bottom, x, bottom + 5)
        svg.text(x, bottom + 20, duration((end - begin) * 1e3 * at / steps) if at else "0", "soft",
                 'text-anchor="%s"' % ("end" if at == steps else "middle"))
    svg.write(path)


# --- the histogram ---


def spaced(time):
    return re.sub(r"([mun]?s)$", r" \1", time).replace(" us", " \u00b5s")


def histogram(said, path):
    """Draws the blocks of `windlass stats --histogram`: a row is "16.4us |#### 5"."""
    said = said.split("\n  own:")[0].strip("\n")
    lines = re.sub(r"(\n +\S+ \| 0){3,}", "\n...", said).split("\n")
    bars = [re.fullmatch(r" +(\S+) \|\S* (\d+)", line) for line in lines]
    most = max(int(bar[2]) for bar in bars if bar)
    svg = Svg(960, 66 + sum(26 if not bar else 20 for bar in bars[1:]) + 14, lines[0], "answers "
              "by the time that they took: from memory, and from the slow disk below")
    y = 62
    for line, bar in zip(lines[1:], bars[1:]):
        if bar:
            wide = int(bar[2]) / most * 760
            svg.text(110, y + 14, spaced(bar[1]), "soft mono", 'text-anchor="end"')
            svg.bar(120, y + 2, wide, 16, "c0",
                    "%s answer%s from %s on" % (bar[2], "s" * (bar[2] != "1"), bar[1]))
            svg.text(126 + wide, y + 14, bar[2], "soft")
        elif line == "...":
            svg.text(110, y + 16, "\u22ee", "soft", 'text-anchor="end"')
        else:
            svg.text(24, y + 16, re.sub(r"[\d.]+[mun]?s\b", lambda time: spaced(time[0]),
                                        line.strip()))
        y += 20 if bar else 26
    svg.write(path)


# --- the mount ---


def work(folder):
    """What a program does: small files, read again, a listing, and one that is synced."""
    for number in range(24):
        with open("%s/note-%d" % (folder, number), "w", encoding="utf-8") as file:
            file.write("a line of text\n" * 200)
    for _ in range(4):
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                file.read()
    with open(folder + "/data", "wb") as file:
        for _ in range(12):
            file.write(b"x" * 8192)
            file.flush()
            os.fsync(file.fileno())
    file = os.open(folder + "/report", os.O_CREAT | os.O_WRONLY)
    for _ in range(6):
        os.write(file, b"y" * 16384)
    os.fsync(file)
    os.close(file)


class Mount:
    def __init__(self, windlass, top):
        self.windlass, self.top, self.point = windlass, top, top + "/import"
        for name in ("export", "import"):
            os.mkdir(os.path.join(top, name))
        with open(top + "/slow.vol", "w", encoding="utf-8") as file:
            file.write(VOLFILE % {"top": top})

    def say(self, *words):
        return subprocess.run([self.windlass, *words], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, encoding="utf-8").stdout

    def __enter__(self):
        self.say("-f", self.top + "/slow.vol", "-l", self.top + "/log", "-o",
                 "direct-io-mode=enable,entry-timeout=0,attribute-timeout=0", self.point)
        return self

    def __exit__(self, *_):
        self.say("umount", self.point)


def draw(mount, out):
    mount.say("stats", mount.point, "--on")
    mount.say("timeline", "start", mount.point)
    work(mount.point)
    mount.say("timeline", "stop", mount.point, "-o", mount.top + "/timeline.json")
    with open(mount.top + "/timeline.json", encoding="utf-8") as file:
        timeline(json.load(file), out + "/timeline.svg")
    flame(mount.say("timeline", "cat", mount.point, "--folded"), out + "/flame.svg")
    histogram(mount.say("stats", mount.point, "--histogram", "quick-read.readv"),
              out + "/histogram.svg")
    with open(out + "/graph.svg", "w", encoding="utf-8") as file:
        file.write(mount.say("graph", mount.point, "--svg").replace(mount.point, "/tmp/import"))


def main():
    windlass, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="pictures.") as top:
        with Mount(os.path.realpath(windlass), top) as mount:
            draw(mount, out)


main()
