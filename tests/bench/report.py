# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was measured, as tables, as a list of where we are slower, and as bars in SVG."""

import html
import statistics

from peers import BARE, GLUSTERFS_STACK, STACK, WINDLASS

COLOURS = ["#9e9e9e", "#1565c0", "#64b5f6", "#ef6c00", "#ffb74d", "#2e7d32", "#6a1b9a", "#66bb6a"]


class Cell:
    """One row of one peer over all rounds: what load answered, with the daemon's CPU."""

    def __init__(self):
        self.rates, self.daemon, self.client = [], [], []

    def add(self, operations, nanoseconds, client, daemon):
        self.rates.append(operations * 1e9 / nanoseconds)
        self.client.append(client / operations / 1000)
        self.daemon.append(daemon / operations / 1000)

    def rate(self):
        return statistics.median(self.rates)

    def spread(self):
        """In percent of the median."""
        return 100 * (max(self.rates) - min(self.rates)) / self.rate()

    def dictionary(self):
        return {"per_second": self.rate(), "spread_percent": self.spread(), "rounds": self.rates,
                "daemon_us": statistics.median(self.daemon), "client_us": statistics.median(self.client)}


def ratio(cell, other):
    return cell.rate() / other.rate() if cell and other else None


def table(rows):
    """Lines of text: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first = row[0].ljust(widths[0])
        yield "  ".join([first] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip()


def rate_cell(cells, peer):
    cell = cells.get(peer)
    if not cell:
        return "-"
    text = f"{cell.rate():,.0f}"
    bare = ratio(cell, cells.get(BARE))
    if bare is not None and peer != BARE:
        text += f" {bare:.2f}x"
    return text + (f" ~{cell.spread():.0f}%" if cell.spread() > 30 else "")


def print_compared(title, rows, peers):
    """rows: {row: {peer: Cell}}."""
    print_cells(f"{title}: operations a second (x: of the bare directory; ~: spread over the rounds, if over 30 %)",
                rows, peers, rate_cell)
    others = [peer for peer in peers if peer not in (BARE, WINDLASS)]
    if WINDLASS in peers and others:
        print_cells(f"{title}: {WINDLASS} against the others; over 1 is faster", rows, others, ratio_cell)
    print_cells(f"{title}: microseconds of CPU for an operation, daemon + client", rows, peers, cpu_cell)


def print_stacks(compared):
    """The client's stack, here and as GlusterFS has it: ratios of all rows, and their median."""
    ratios = {(title, row): ratio(cells.get(STACK), cells.get(GLUSTERFS_STACK))
              for title, rows in compared.items() for row, cells in rows.items()}
    ratios = {key: value for key, value in ratios.items() if value is not None}
    if not ratios:
        return
    print("\nthe same client's stack, Windlass against GlusterFS; over 1 is faster\n")
    print("\n".join(table([[f"{title}: {row}", f"{value:.2f}x"] for (title, row), value in ratios.items()])))
    print(f"\nmedian {statistics.median(ratios.values()):.2f}x, least {min(ratios.values()):.2f}x")


def print_cells(heading, rows, peers, text_of):
    print(f"\n{heading}\n")
    lines = [[row, *(text_of(cells, peer) for peer in peers)] for row, cells in rows.items()]
    print("\n".join(table([["", *peers], *lines])))


def ratio_cell(cells, peer):
    value = ratio(cells.get(WINDLASS), cells.get(peer))
    return "-" if value is None else f"{value:.2f}x"


def cpu_cell(cells, peer):
    cell = cells.get(peer)
    if not cell:
        return "-"
    return f"{statistics.median(cell.daemon):.2f} + {statistics.median(cell.client):.2f}"


def print_resident(resident):
    """resident: {section: {peer: [KiB]}}."""
    peers = list(dict.fromkeys(peer for cells in resident.values() for peer in cells))
    print("\nresident memory of the daemon at the end of a section, KiB\n")
    lines = [["", *peers]]
    for section, cells in resident.items():
        lines.append([section] + [f"{statistics.median(cells[peer]):,.0f}" if peer in cells else "-"
                                  for peer in peers])
    print("\n".join(table(lines)))


def print_edge(rows):
    print("\none layer that only passes on: the aims are 60 instructions and 15 ns, and 0 where it is elided\n")
    lines = [["", "ns", "least to most", "instructions"]]
    for row in rows:
        count = "-" if row["instructions"] is None else f"{row['instructions']:.1f}"
        spread = f"{row['ns_least']:.2f} to {row['ns_most']:.2f}"
        lines.append([row["operation"], f"{row['ns']:.2f}", spread, count])
    print("\n".join(table(lines)))


def print_memory(rows):
    print("\nmemory that the daemon wrote itself (Private_Dirty), KiB; the aim is 400 bytes an inode\n")
    lines = [["", "files", "before", "known", "forgotten", "bytes/file", "kept bytes/file"]]
    for row in rows:
        numbers = [f"{row[column]:,}" for column in ("files", "before", "known", "forgotten")]
        lines.append([row["peer"], *numbers, f"{row['bytes']:.0f}", f"{row['kept_bytes']:.0f}"])
    print("\n".join(table(lines)))


def print_slower(compared):
    """Being slower is not an error here, it is what was to be found out."""
    slower = slower_rows(compared)
    print()
    for (title, peer), rows in slower.items():
        print(f"slower than {peer} ({title}): {', '.join(rows)}")
    if not slower:
        print("slower than nobody")


def slower_rows(compared):
    slower = {}
    for title, rows in compared.items():
        for row, cells in rows.items():
            mine = cells.get(WINDLASS)
            for peer, cell in cells.items():
                if not mine or peer == BARE or peer.startswith(WINDLASS) or ratio(mine, cell) >= 1:
                    continue
                unsure = " (ranges overlap)" if max(mine.rates) >= min(cell.rates) else ""
                slower.setdefault((title, peer), []).append(f"{row} {ratio(mine, cell):.2f}x{unsure}")
    return slower


# --- SVG ----------------------------------------------------------------------------------------

BAR, GAP, LEFT, WIDTH = 14, 14, 200, 620


def svg_rows(rows, peers, top):
    """A row's bars are relative to its fastest daemon; the bare directory is often far beyond the scale."""
    y = top
    for row, cells in rows.items():
        fastest = max((cell.rate() for peer, cell in cells.items() if peer != BARE), default=1)
        middle = y + BAR * len(cells) / 2 + 4
        yield y, f'<text x="{LEFT - 10}" y="{middle:.0f}" text-anchor="end">{html.escape(row)}</text>'
        for peer, cell in cells.items():
            length = min(cell.rate() / fastest, 1) * WIDTH
            colour = COLOURS[peers.index(peer) % len(COLOURS)]
            label = f"{cell.rate():,.0f}/s" + (" (beyond the scale)" if cell.rate() > fastest else "")
            yield y, f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{colour}"/>'
            yield y, f'<text x="{LEFT + length + 5:.1f}" y="{y + BAR - 4}" class="n">{label}</text>'
            y += BAR
        y += GAP
    yield y, ""


def svg(compared, peers):
    body, y = [], 50
    for i, peer in enumerate(peers):
        x = LEFT + i * 125
        body.append(f'<rect x="{x}" y="15" width="12" height="12" fill="{COLOURS[i % len(COLOURS)]}"/>'
                    f'<text x="{x + 17}" y="25">{html.escape(peer)}</text>')
    for title, rows in compared.items():
        body.append(f'<text x="10" y="{y + 10}" class="t">{html.escape(title)}</text>')
        y += 26
        for y, line in svg_rows(rows, peers, y):
            body.append(line)
    style = ("text { font: 12px sans-serif } .n { font-size: 10px; fill: #555 } "
             ".t { font-weight: bold; font-size: 14px }")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 190}" height="{y + 20}">'
            f'<style>{style}</style><rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(body) + "\n</svg>\n")
