# SPDX-License-Identifier: LGPL-2.1-or-later
"""What Windlass is to reach, as ratios of one run, and what it reaches."""

import statistics

import figures
import report
import sections
from peers import (AS_HP, BARE, BRICK, DISTRIBUTE, EXCLUSIVE, GLUSTERFS, GLUSTERFS_BRICK,
                   FUSE_OVERLAYFS,
                   GLUSTERFS_DISTRIBUTE, GLUSTERFS_REPLICATE, GLUSTERFS_STACK, GLUSTERFS_VOLUME,
                   HP_NO_CACHE, HP_SEES, OVERLAY, OVERLAY_EXCLUSIVE, PASS, PASS_URING, REPLICATE,
                   ROT13, STACK, STACK_WITHOUT, URING, VOLUME, WINDLASS)

DATA = ["write 1M", "read 1M cold", "read 1M again", "random read 4K", "write 4K"]
DIRECT = ["read 4K x1", "read 4K x4", "write 4K x1", "write 4K x4", "read 128K", "write 128K"]
SMALL, HP = ["write 4K"], "hp-uring"
BELOW = ["stat cold, below", "open-read, below", "ls -lU, below", "rm -r, below"]
NAMES = ["getattr", "no name", "create", "open-read", "rename", "unlink", "stat cold"]
ON_BRICKS = [(VOLUME, GLUSTERFS_VOLUME), (DISTRIBUTE, GLUSTERFS_DISTRIBUTE),
             (REPLICATE, GLUSTERFS_REPLICATE)]


DBENCH, LISTING = ["dbench"], ["listing"]
# The charts of scale.py that have an aim, their row here, and whether less is better.
CHARTS = {"dbench": (DBENCH[0], False), "dbench-listing": (LISTING[0], True)}
CLIENTS = "4"


def daemon_ratio(mine, other):
    """Of the daemons' CPU time: 2 where mine takes half of it."""
    return other.cpu()[0] / max(mine.cpu()[0], 0.01) if mine and other else None


class Aim:
    """Each pair of names: the first is compared with the second. Each row has to reach the least,
    and their median of_median. ratio: the function that compares."""

    def __init__(self, name, rows, pairs, least, of_median=None, ratio=figures.ratio):
        self.name, self.rows, self.pairs = name, rows, pairs
        self.least, self.of_median, self.ratio = least, of_median, ratio


AIMS = [
    Aim("passthrough: data as in the bare directory", DATA, [(PASS, BARE), (PASS_URING, BARE)],
        0.9),
    Aim("data touched: rot-13 as passthrough_ll, no writeback", DATA,
        [(ROT13 + "-classic", "ll"), (ROT13, "ll")], 0.9),
    Aim("data touched: rot-13 as passthrough_ll, writeback", DATA, [(ROT13 + "-wb", "ll-wb")], 0.9),
    Aim("O_DIRECT: as passthrough_hp", DIRECT, [(PASS, "hp"), (PASS_URING, "hp-uring")], 0.95),
    Aim("O_DIRECT: rot-13 as passthrough_hp without passthrough", DIRECT,
        [(ROT13 + "-classic", HP_SEES), (ROT13, HP_SEES + "-uring")], 0.95),
    Aim("O_DIRECT: the client's stack, the same", DIRECT,
        [(STACK + "-classic", HP_SEES), (STACK, HP_SEES + "-uring")], 0.7),
    Aim("O_DIRECT: the daemon's CPU time, passed", DIRECT[:1], [(PASS_URING, HP_SEES + "-uring")],
        20, ratio=daemon_ratio),
    Aim("O_DIRECT: the daemon's CPU time, rot-13", DIRECT[:1], [(ROT13, HP_SEES + "-uring")], 0.9,
        ratio=daemon_ratio),
    Aim("O_DIRECT: the daemon's CPU time, the client's stack", DIRECT[:1],
        [(STACK, HP_SEES + "-uring")], 0.6, ratio=daemon_ratio),
    Aim("dbench: as passthrough_hp", DBENCH, [(WINDLASS, "hp-uring")], 0.75),
    Aim("dbench: exclusive as passthrough_hp", DBENCH, [(EXCLUSIVE, "hp-uring")], 1.05),
    Aim("dbench: rot-13, exclusive, writeback", DBENCH,
        [(ROT13 + "-exclusive-wb", HP_SEES + "-uring")], 0.95),
    Aim("dbench: what io-threads costs the client's stack", DBENCH, [(STACK, STACK_WITHOUT)], 0.95),
    Aim("dbench: the client's stack without it", DBENCH, [(STACK_WITHOUT, WINDLASS)], 0.9),
    Aim("dbench: the client's stack, exclusive, writeback", DBENCH,
        [(STACK + "-exclusive-wb", HP_SEES + "-uring")], 0.7),
    Aim("dbench: listing a small directory", LISTING, [(WINDLASS, "hp-uring"), (STACK, "hp-uring")],
        0.64),
    Aim("RocksDB: appends of 100 bytes", ["fillseq"], [(ROT13, BARE), (STACK, BARE)], 0.11),
    Aim("listing with extended attributes: as passthrough_hp", [sections.LS_XATTRS],
        [(WINDLASS, HP), (ROT13, HP), (STACK, HP)], 0.8),
    Aim("cold stat: as passthrough_hp", ["stat cold"], [(WINDLASS, HP), (ROT13, HP)], 1.05),
    Aim("cold stat: the client's stack", ["stat cold"], [(STACK, HP)], 0.7),
    Aim("open, read, close: as passthrough_hp", ["open-read"], [(WINDLASS, HP)], 2.2),
    Aim("open, read, close: the client's stack", ["open-read"], [(STACK, HP)], 1.6),
    Aim("create, rename, unlink: as passthrough_hp", ["create", "rename", "unlink"],
        [(WINDLASS, HP)], 1.3),
    Aim("untar: as in the bare directory", ["untar"], [(WINDLASS, BARE)], 0.24),
    Aim("a view: names as in fuse-overlayfs", [*NAMES, *BELOW],
        [(OVERLAY_EXCLUSIVE, FUSE_OVERLAYFS)], 2),
    Aim("a view: git status and untar as in the directory", ["git status", "untar"],
        [(OVERLAY_EXCLUSIVE, EXCLUSIVE)], 0.77),
    Aim("a view: rm -r as in the directory", ["rm -r, below"],
        [(OVERLAY_EXCLUSIVE, EXCLUSIVE)], 0.5),
    Aim("a view: reads, cold, as passthrough_hp without passthrough", ["read 1M cold"],
        [(OVERLAY, HP_SEES)], 0.95),
    Aim("a view: reads, warm, as the directory", ["read 1M again"], [(OVERLAY, BARE)], 0.95),
    Aim("small writes: as passthrough_hp", SMALL, [(WINDLASS, HP)], 0.95),
    Aim("small writes: passthrough_hp without passthrough", SMALL,
        [(ROT13 + "-wb", HP_SEES + "-uring"), (STACK + "-wb", HP_SEES + "-uring"),
         (ROT13, HP_NO_CACHE + "-uring"), (STACK, HP_NO_CACHE + "-uring")], 0.95),
    Aim("names: io_uring as passthrough_hp with io_uring", NAMES,
        [(URING, "hp-uring"), (PASS_URING, "hp-uring")], 1),
    Aim("names: the same, no rights checked by the kernel", NAMES, [(AS_HP, "hp-uring")], 1),
    Aim("names: GlusterFS", NAMES, [(WINDLASS, GLUSTERFS)], 2, 5),
    Aim("names on bricks: GlusterFS's client", NAMES,
        [*ON_BRICKS, (BRICK, GLUSTERFS_BRICK), (BRICK + "-0", GLUSTERFS_BRICK + "-0")], 1.5, 2),
    Aim("data on bricks: GlusterFS's client", ["write 1M", "read 1M cold"],
        [*ON_BRICKS, (BRICK, GLUSTERFS_BRICK)], 1.3),
    Aim("data on bricks: the daemon's CPU time", ["write 1M", "read 1M cold"],
        [*ON_BRICKS, (BRICK, GLUSTERFS_BRICK)], 1.43, ratio=daemon_ratio),
    Aim("work on bricks: GlusterFS's client", ["untar", "git status", "ls -lU"], ON_BRICKS, 1.5),
    Aim("the client's stack: GlusterFS with the same volfile", None, [(STACK, GLUSTERFS_STACK)], 1,
        2),
]


def ratios_of(rows, aim, pair):
    """{row: ratio} where both were measured."""
    found = {}
    for row in aim.rows or rows:
        cells = figures.cells(rows, row) if row in rows else {}
        value = aim.ratio(cells.get(pair[0]), cells.get(pair[1]))
        if value is not None:
            found[row] = value
    return found


def of_charts(curves):
    """{row: {peer: cell}} of those of CHARTS that were measured, in the form of comparisons: more
    is better."""
    rows = {}
    for chart, (row, less_is_better) in CHARTS.items():
        for peer, points in curves.get(chart, {"lines": {}})["lines"].items():
            values = [value for value in points.get(CLIENTS, []) if value]
            if values:
                rates = [1 / value if less_is_better else value for value in values]
                rows.setdefault(row, {})[peer] = {"rates": rates, "daemon": [0], "client": [0]}
    return {f"{CLIENTS} clients": rows} if rows else {}


def judged(compared):
    """(aim, title, pair, {row: ratio}, reached) for each of which there are figures."""
    for aim in AIMS:
        for title, rows in compared.items():
            for pair in aim.pairs:
                found = ratios_of(rows, aim, pair)
                if found:
                    least, median = min(found.values()), statistics.median(found.values())
                    yield (aim, title, pair, found, least >= aim.least
                           and median >= (aim.of_median or 0))


# MiB of the client's stack when so many files are known, and when they are forgotten.
STACK_FILES, STACK_KNOWN, STACK_FORGOTTEN = 16000, 40, 20


def memory_lines(rows):
    """The memory that is kept after many files were forgotten must equal that before: a tenth more
    is chance. After a few, threads that started meanwhile are more than that."""
    for row in rows:
        if row["peer"] == STACK and row["files"] == STACK_FILES:
            for name, aim in (("known", STACK_KNOWN), ("forgotten", STACK_FORGOTTEN)):
                yield [f"memory when all are {name}, MiB", f"{row['files']:,} files", STACK,
                       f"{row[name] / 1024:.0f}", "", f"{aim}",
                       "reached" if row[name] <= aim * 1024 else "above"]
        if row["peer"].startswith(WINDLASS) and row["files"] > STACK_FILES:
            kept = row["forgotten"] / max(row["before"], 1)
            yield ["memory when all were forgotten, as times before", f"{row['files']:,} files",
                   row["peer"], f"{kept:.2f}", "", "1",
                   "reached" if kept <= 1.1 else "above"]


def print_aims(compared, curves, memory):
    lines = [["", "", "", "least", "median", "aim", ""]]
    short = []
    for aim, title, pair, found, reached in judged({**compared, **of_charts(curves)}):
        wanted = f"{aim.least}" + (f", median {aim.of_median}" if aim.of_median else "")
        lines.append([aim.name, title, f"{pair[0]} / {pair[1]}", f"{min(found.values()):.2f}",
                      f"{statistics.median(found.values()):.2f}", wanted,
                      "reached" if reached else "below"])
        below = [f"{row} {value:.2f}" for row, value in found.items() if value < aim.least]
        if below:
            short.append(f"{pair[0]} / {pair[1]}, {title}: {', '.join(below)}")
    lines += memory_lines(memory)
    if len(lines) > 1:
        print("\nthe aims: what one reaches as a part of what another does\n")
        print("\n".join(report.table(lines)))
    if short:
        print("\nbelow the least:\n" + "\n".join("  " + line for line in short))
