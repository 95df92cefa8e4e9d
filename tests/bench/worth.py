# SPDX-License-Identifier: LGPL-2.1-or-later
"""The worth of each cache: the same work over storage that takes 1 ms a call, without the
translator and with it."""

import os
import re
import statistics
import subprocess

import figures
import report
from peers import Peer

# The last one is with the translator too, but with daemon and client on one CPU: its worth where no
# idle CPU has to wake for each request.
WITHOUT, WITH, PINNED = "without", "with", "with, one CPU"
NAMES = [WITHOUT, WITH, PINNED]
# The daemon is asked each time, whatever the kernel might know.
ASK_NAMES = ["--entry-timeout=0", "--attribute-timeout=0"]
KNOW_NAMES = ["--entry-timeout=3600", "--attribute-timeout=3600"]
ASK_DATA = ["--direct-io-mode=on"]
DELAY = ("debug/delay-gen", {"delay-percentage": "100%", "delay-duration": "1000"})
SLOWER = ("debug/delay-gen", {**DELAY[1], "delay-duration": "10000"})


class Worth:
    """One row: the work, the storage, the load, and the aim; quick_aim: the aim that noise cannot
    break."""

    def __init__(self, name, translators, aim, quick_aim, work, options, below=DELAY):
        self.name, self.translators, self.aim, self.quick_aim = name, translators, aim, quick_aim
        self.work, self.options, self.below = work, options, below


def writes(peer, run, sizes):
    return run("write-synced", sizes.writes, 4096)


def reads(peer, run, sizes):
    return run("read", sizes.reads, 131072)


def opens(peer, run, sizes):
    return run("open", run.files)


def listed(peer, run, sizes):
    return run("stat", run.files)


def missing(peer, run, sizes):
    return run("missing", run.files)


def names(peer, run, sizes):
    return run("list", 1)


def attributes(peer, run, sizes):
    return run("list-stat", 1)


def first_writes(peer, run, sizes):
    """Nothing: they are new each time."""


def first_reads(peer, run, sizes):
    with open(os.path.join(peer.back, "data"), "wb") as file:
        file.truncate(sizes.reads * 131072)


def first_opens(peer, run, sizes):
    run.bench.load("create", peer.back, sizes.files)
    run("open", run.files)


def first_list(peer, run, sizes):
    run.bench.load("create", peer.back, sizes.files, 0)
    for name in os.listdir(peer.mnt):
        os.listdir(os.path.join(peer.mnt, name))


def first_names(peer, run, sizes):
    run.bench.load("create", peer.back, sizes.listed, 0, sizes.listed)
    run("list", 1)


def first_missing(peer, run, sizes):
    for i in range(0, run.files, 1000):
        os.makedirs(os.path.join(peer.back, f"d{i // 1000:03}"), exist_ok=True)
    run("missing", run.files)


CACHED = {"md-cache-timeout": "600", "cache-invalidation": "on"}
ROWS = [
    Worth("sequential writes of 4 KiB: write-behind", [("performance/write-behind", {})], 30, 3,
          (first_writes, writes), []),
    Worth("sequential reads of 128 KiB: read-ahead",
          [("performance/read-ahead", {"page-count": "16"})], 8, 2,
          (first_reads, reads), ASK_DATA),
    Worth("open, read, close again: open-behind, quick-read",
          [("performance/open-behind", {}), ("performance/quick-read", {"cache-timeout": "600"})],
          50, 2, (first_opens, opens),
          KNOW_NAMES + ASK_DATA),
    Worth("stat of what was listed: md-cache", [("performance/md-cache", CACHED)], 50, 2,
          (first_list, listed), ASK_NAMES),
    Worth("names that are missing again: nl-cache",
          [("performance/nl-cache", {"nl-cache-timeout": "600", "nl-cache-limit": "16MB"})], 50, 2,
          (first_missing, missing), KNOW_NAMES),
    # The gain is limited by how much larger the translator's own calls are than the kernel's: four
    # times where the kernel asks for 32 KiB.
    *(Worth(f"{what}, {time} a call: readdir-ahead", [("performance/readdir-ahead", {})], aim, 0.3,
            (first_names, work), [], below)
      for what, aim, work in (("ls -U", 1, names), ("ls -lU", 1.5, attributes)) for time,
      below in (("1 ms", DELAY), ("10 ms", SLOWER))),
]


class Sizes:
    def __init__(self, quick):
        self.writes = 400 if quick else 4000
        self.reads = 100 if quick else 1000
        self.files = 100 if quick else 10000
        self.listed = 2000 if quick else 20000


def volumes(specs, below):
    for number, (kind, options) in enumerate(specs, 1):
        name = f"{kind.rsplit('/', 1)[-1]}-{number}"
        lines = [f"volume {name}", f"    type {kind}", *(f"    option {key} {value}" for key,
                                                         value in options.items())]
        yield "\n".join([*lines, f"    subvolumes {below}", "end-volume"])
        below = name


def volfile(peer, specs):
    text = f"volume posix\n    type storage/posix\n    option directory {peer.back}\nend-volume\n"
    with open(peer.path("x.vol"), "w", encoding="ascii") as file:
        file.write(text + "\n".join(volumes(specs, "posix")) + "\n")
    return peer.path("x.vol")


def command_of(row, name):
    specs = [row.below, *(row.translators if name != WITHOUT else [])]
    return lambda peer: [peer.bench.windlass, "-N", "-f", volfile(peer, specs), "-l",
                         peer.path("log"), *row.options, peer.mnt]


class Run:
    """files: the number of files. Without the translator storage sets the rate, so a tenth of them
    suffices."""

    def __init__(self, bench, peer, files, pinned=False):
        self.bench, self.peer, self.files, self.pinned = bench, peer, files, pinned

    def __call__(self, work, *numbers):
        before = self.peer.cpu()
        return (*self.bench.load(work, self.peer.mnt, *numbers, pinned=self.pinned),
                self.peer.cpu() - before)


def measure_row(bench, row, number, rounds, sizes):
    """{name: Cell}, and the ratios of WITH to WITHOUT of the rounds, in which all take turns."""
    cells, ratios = {name: figures.Cell() for name in NAMES}, []
    without, with_it = [Peer(bench, f"worth-{number}-{name}", command_of(row, name), [])
                        for name in (WITHOUT, WITH)]
    runs = {WITHOUT: Run(bench, without, max(sizes.files // 10, 100)),
            WITH: Run(bench, with_it, sizes.files),
            PINNED: Run(bench, with_it, sizes.files, True)}
    try:
        for name in (WITHOUT, WITH):
            bench.progress(f"{row.name}: preparing {name}")
            runs[name].peer.start(False)
            row.work[0](runs[name].peer, runs[name], sizes)
        for i in range(rounds):
            for name in NAMES[::-1 if i % 2 else 1]:
                bench.progress(f"{row.name}: round {i + 1} of {rounds}: {name}")
                with_it.pin(name == PINNED)
                cells[name].add(*row.work[1](runs[name].peer, runs[name], sizes))
            ratios.append(cells[WITH].rates()[-1] / cells[WITHOUT].rates()[-1])
    finally:
        without.stop()
        with_it.stop()
    return cells, ratios


def known_types(bench):
    said = subprocess.run([bench.windlass, "help"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return re.findall(r"^  ([a-z0-9-]+/[a-z0-9-]+) ", said.split("Translators", 1)[1], re.M)


def measure(bench, quick, rounds, rows, word=""):
    """Adds to rows [{row, aim, quick_aim, ratio, ratios, cells}] those whose name has the word.
    Rows that the build does not support are left out, with a message."""
    known = known_types(bench)
    for number, row in enumerate(ROWS):
        if word not in row.name:
            continue
        absent = [kind for kind, _ in [row.below, *row.translators] if kind not in known]
        if absent:
            bench.say(f"{row.name}: left out, there is no {' and no '.join(absent)}")
            continue
        cells, ratios = measure_row(bench, row, number, rounds, Sizes(quick))
        rows.append({"row": row.name, "aim": row.quick_aim if quick else row.aim,
                     "ratio": statistics.median(ratios),
                     "ratios": ratios,
                     "cells": {name: cell.dictionary for name, cell in cells.items()}})


def print_rows(rows):
    print("\nover storage that takes 1 ms a call: operations a second without the translator and "
          "with it, and how many times "
          "faster (medians; one CPU: daemon and client share it)\n")
    lines = [["", *NAMES, "faster", "on one CPU", "aim", ""]]
    for row in rows:
        cells = {name: figures.Cell(dictionary) for name, dictionary in row["cells"].items()}
        rates = [f"{cells[name].rate():,.0f}" if name in cells else "-" for name in NAMES]
        pinned = figures.ratio(cells.get(PINNED), cells[WITHOUT])
        verdict = "" if row["ratio"] >= row["aim"] else "below the aim"
        lines.append([row["row"], *rates, f"{row['ratio']:.1f}x",
                      "-" if pinned is None else f"{pinned:.1f}x", f"{row['aim']}x", verdict])
    print("\n".join(report.table(lines)))
