# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results as tables and pictures, and how two runs differ. figures.py describes the
dictionary."""

import os
import statistics

import figures as of
import machine
import picture
import scale
from peers import BARE, WINDLASS


def table(rows):
    """Lines of text: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first = row[0].ljust(widths[0])
        yield "  ".join([first] + [cell.rjust(width) for cell,
                                   width in zip(row[1:], widths[1:])]).rstrip()


def print_machines(machines):
    for state in machines:
        print("\n".join(machine.lines(state)))


# --- what is compared ---------------------------------------------------------------------------

def print_cells(heading, rows, peers, text_of):
    """A line for each peer, a column for each kind of work."""
    cells = {row: of.cells(rows, row) for row in rows}
    lines = [["", *rows]]
    for peer in peers:
        if any(peer in cells[row] for row in rows):
            lines.append([peer, *(text_of(cells[row], peer) if peer in cells[row] else "-"
                                  for row in rows)])
    if len(lines) > 1:
        print(f"\n{heading}\n")
        print("\n".join(table(lines)))


def rate_text(cells, peer):
    spread = cells[peer].spread()
    return f"{cells[peer].rate():,.0f}" + (f" ~{spread:.0f}%" if spread > 30 else "")


def ratio_text(other):
    def text(cells, peer):
        value = of.ratio(cells[peer], cells.get(other))
        return "-" if value is None else f"{value:.2f}"

    return text


def against_text(cells, peer):
    value = of.ratio(cells.get(WINDLASS), cells[peer])
    return "-" if value is None else f"{value:.2f}"


def cpu_text(cells, peer):
    daemon, client = cells[peer].cpu()
    server = cells[peer].server_cpu()
    return f"{daemon:.1f} + {client:.1f}" + (f" + {server:.1f}" if server is not None else "")


def print_rates(title, rows, peers):
    print_cells(f"{title}: operations a second, medians (~: how far the rounds are apart, if over "
                "30 %)", rows, peers, rate_text)


def print_compared(title, rows, peers, noise):
    print_rates(title, rows, peers)
    if BARE in peers:
        print_cells(f"{title}: as a part of the bare directory's", rows,
                    [peer for peer in peers if peer != BARE], ratio_text(BARE))
    others = [peer for peer in peers if peer not in (BARE, WINDLASS)]
    if WINDLASS in peers and others:
        print_cells(f"{title}: {WINDLASS} as times each other; over 1 it is faster", rows, others,
                    against_text)
    print_cells(f"{title}: microseconds of CPU for an operation, daemon + client (+ brick)", rows,
                peers, cpu_text)
    print(f"\n{title}: others used {100 * noise[0] / max(noise[1], 1):.0f} % of a CPU meanwhile")


def print_resident(resident):
    """resident: {section: {peer: [[KiB, KiB at the peak]]}}."""
    peers = list(dict.fromkeys(peer for values in resident.values() for peer in values))
    print("\nmemory of the daemon, MiB: resident at the end of a section / at the peak\n")
    lines = [["", *resident]]
    for peer in peers:
        lines.append([peer] + ["/".join(f"{statistics.median(column) / 1024:.1f}"
                                        for column in zip(*values[peer]))
                               if peer in values else "-" for values in resident.values()])
    print("\n".join(table(lines)))


def slower_rows(compared):
    slower = {}
    for title, rows in compared.items():
        for row in rows:
            cells = of.cells(rows, row)
            mine = cells.get(WINDLASS)
            for peer, cell in cells.items():
                if (not mine or peer == BARE or peer.startswith(WINDLASS)
                    or of.ratio(mine, cell) >= 1):
                    continue
                unsure = " (ranges overlap)" if max(mine.rates()) >= min(cell.rates()) else ""
                slower.setdefault((title, peer),
                                  []).append(f"{row} {of.ratio(mine, cell):.2f}{unsure}")
    return slower


def print_slower(compared):
    """Being slower is not an error here, it is what was to be found out."""
    slower = slower_rows(compared)
    print()
    for (title, peer), rows in slower.items():
        print(f"slower than {peer} ({title}): {', '.join(rows)}")
    if not slower:
        print("slower than nobody")


# --- the rest -----------------------------------------------------------------------------------

def print_edge(rows):
    print("\none layer that only passes on: the aims are 60 instructions and 15 ns, and 0 where it "
          "is elided\n")
    lines = [["", "ns", "least to most", "instructions"]]
    for row in rows:
        count = "-" if row["instructions"] is None else f"{row['instructions']:.1f}"
        spread = f"{row['ns_least']:.2f} to {row['ns_most']:.2f}"
        lines.append([row["operation"], f"{row['ns']:.2f}", spread, count])
    print("\n".join(table(lines)))


def points_of(curve):
    """{name: {number: [y]}}: in JSON numbers are texts."""
    return {name: {int(x): ys for x, ys in points.items()} for name,
            points in curve["lines"].items()}


def print_curve(chart, curve):
    lines = points_of(curve)
    xs = sorted({x for points in lines.values() for x in points})
    rows = [["", *(f"{x:,}" for x in xs)] + (["one more costs"]
                                             if chart.startswith("translators") else [])]
    for name, points in lines.items():
        medians = [(x, statistics.median(points[x])) for x in xs if x in points]
        row = [name, *(f"{statistics.median(points[x]):,.3g}" if x in points
                       and statistics.median(points[x]) < 100
                       else f"{statistics.median(points[x]):,.0f}" if x in points else "-"
                       for x in xs)]
        rows.append(row + ([f"{1000 * scale.slope(medians):.0f} ns"]
                           if chart.startswith("translators") else []))
    print(f"\n{chart}: {curve['y']}, by {curve['x']}\n")
    print("\n".join(table(rows)))


# --- pictures -----------------------------------------------------------------------------------

def pictures(figures):
    """(name of the file, SVG) of each."""
    sections = {}
    for title, rows in figures["compared"].items():
        sections.setdefault(title.split(",")[0], {})[title] = {
            row: {peer: cell.rate() for peer, cell in of.cells(rows, row).items()} for row in rows}
    for section, groups in sections.items():
        yield section, picture.bars(groups, figures["peers"], (BARE,))
    if figures["worth"]:
        rows = {row["row"]: {name: of.Cell(row["cells"][name]).rate() for name in row["cells"]}
                for row in figures["worth"]}
        yield "worth", picture.bars({"over storage that takes a while for each call": rows},
                                    list(dict.fromkeys(name for row in rows.values()
                                                       for name in row)))
    for chart, curve in figures["curves"].items():
        yield chart, picture.curves(chart, curve["x"], curve["y"], points_of(curve))


def write_pictures(figures, folder):
    for name, text in pictures(figures):
        with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as file:
            file.write(text)


# --- two runs -----------------------------------------------------------------------------------

def change_text(new, old):
    """How many times as fast; * where the rounds of both don't overlap, and so it is no chance."""
    apart = min(new.rates()) > max(old.rates()) or max(new.rates()) < min(old.rates())
    return (f"{new.rate() / old.rate():.2f}"
            + ("*" if apart and min(len(new.rates()), len(old.rates())) > 1 else ""))


def print_changes(new, old):
    print("\nagainst the older run: how many times as fast (*: the rounds of the two don't "
          "overlap)")
    for title, rows in new["compared"].items():
        theirs = old["compared"].get(title, {})
        both = {row: rows[row] for row in rows if row in theirs}
        lines = [["", *both]]
        for peer in new["peers"]:
            texts = []
            for row in both:
                cells, old_cells = of.cells(rows, row), of.cells(theirs, row)
                texts.append(change_text(cells[peer], old_cells[peer]) if peer in cells
                             and peer in old_cells else "-")
            if any(text != "-" for text in texts):
                lines.append([peer, *texts])
        if len(lines) > 1:
            print(f"\n{title}\n")
            print("\n".join(table(lines)))
