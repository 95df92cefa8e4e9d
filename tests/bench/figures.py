# SPDX-License-Identifier: LGPL-2.1-or-later
"""All results, in one dictionary that is also the JSON file. Reports are made of it alone, so they
can be made of a file, of several that are put together, or of two that are compared.

    machines  [what machine.state says]                       one for each run
    peers     [name]
    compared  {title: {row: {peer: {rates, daemon, client, server}}}} a figure for each round:
                                       operations a second, CPU in us an operation; server: a brick
    resident  {section: {peer: [[KiB, KiB at the peak]]}}
    others    {title: [nanoseconds of CPU that others used, that passed]}
    curves    {chart: {x, y, lines: {name: {x: [y]}}}}
    edge, stack, memory, worth, slow                          lists of rows"""

import json
import statistics

LISTS = ["machines", "edge", "stack", "memory", "worth", "slow"]  # of worth's rows each has rounds


class Cell:
    """One row of one peer over all rounds."""

    def __init__(self, dictionary=None):
        self.dictionary = {"rates": [], "daemon": [], "client": []}
        if dictionary is not None:
            self.dictionary = dictionary

    def add(self, operations, nanoseconds, client, daemon, server=0):
        self.dictionary["rates"].append(operations * 1e9 / nanoseconds)
        self.dictionary["client"].append(client / operations / 1000)
        self.dictionary["daemon"].append(daemon / operations / 1000)
        if server:
            self.dictionary.setdefault("server", []).append(server / operations / 1000)

    def rates(self):
        return self.dictionary["rates"]

    def rate(self):
        return statistics.median(self.rates())

    def spread(self):
        """In percent of the median."""
        return 100 * (max(self.rates()) - min(self.rates())) / self.rate()

    def cpu(self):
        """Microseconds an operation, of the daemon and of the client."""
        return (statistics.median(self.dictionary["daemon"]),
                statistics.median(self.dictionary["client"]))

    def server_cpu(self):
        """The same of a brick, or None."""
        servers = self.dictionary.get("server")
        return statistics.median(servers) if servers else None


def empty():
    return {"format": 2, "peers": [], "compared": {}, "resident": {}, "others": {}, "curves": {},
            **{name: [] for name in LISTS}}


def cell(figures, title, row, peer):
    """The Cell, made if there is none."""
    rows = figures["compared"].setdefault(title, {})
    return Cell(rows.setdefault(row, {}).setdefault(peer, Cell().dictionary))


def cells(rows, row):
    """{peer: Cell} of a row."""
    return {peer: Cell(dictionary) for peer, dictionary in rows[row].items()}


def ratio(cell_, other):
    return cell_.rate() / other.rate() if cell_ and other else None


def read(path):
    """The figures of a file, or ValueError."""
    with open(path, encoding="utf-8") as file:
        figures = json.load(file)
    if not isinstance(figures, dict) or figures.get("format") != 2:
        raise ValueError(f"'{path}' isn't what --json writes")
    return {**empty(), **figures}  # a file of an older bench has no figures of what is new


def write(path, figures):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(figures, file, indent=1)


def points_add(into, more):
    for name, points in more.items():
        for x, values in points.items():
            into.setdefault(name, {}).setdefault(str(x), []).extend(values)


def worth_added(rows, more):
    """Rounds of the same row put together."""
    rows = {row["row"]: row for row in rows}
    for row in more:
        mine = rows.setdefault(row["row"], row)
        if mine is not row:
            mine["ratios"] += row["ratios"]
            mine["ratio"] = statistics.median(mine["ratios"])
            for name, dictionary in row["cells"].items():
                points_add({name: mine["cells"].setdefault(name, Cell().dictionary)},
                           {name: dictionary})
    return list(rows.values())


def add(figures, more):
    """Puts another run's rounds behind these. Of results without rounds the last is kept, where
    both have it."""
    figures["peers"] += [peer for peer in more["peers"] if peer not in figures["peers"]]
    for title, rows in more["compared"].items():
        for row, peers in rows.items():
            for peer, dictionary in peers.items():
                mine = cell(figures, title, row, peer).dictionary
                for key, values in dictionary.items():
                    mine.setdefault(key, []).extend(values)
    for section, peers in more["resident"].items():
        for peer, values in peers.items():
            figures["resident"].setdefault(section, {}).setdefault(peer, []).extend(values)
    for title, noise in more["others"].items():
        figures["others"][title] = [a + b for a,
                                    b in zip(figures["others"].get(title, [0, 0]), noise)]
    for chart, curves in more["curves"].items():
        mine = figures["curves"].setdefault(chart, {**curves, "lines": {}})
        points_add(mine["lines"], curves["lines"])
    figures["machines"] += more["machines"]
    figures["worth"] = worth_added(figures["worth"], more["worth"])
    for name in ("edge", "stack", "memory", "slow"):
        figures[name] = more[name] or figures[name]
    return figures
