# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures in SVG: bars, and curves over logarithmic axes. Written here, since a library of plots
would be a hundred times as large, and one more thing to install before measuring."""

import html
import math
import statistics

COLOURS = ["#9e9e9e", "#1565c0", "#ef6c00", "#2e7d32", "#6a1b9a", "#c62828", "#00838f", "#f9a825",
           "#4e342e", "#ad1457",
           "#64b5f6", "#ffb74d", "#81c784", "#ba68c8", "#e57373", "#4dd0e1", "#fff176", "#a1887f",
           "#f06292", "#37474f"]
STYLE = ("text { font: 12px sans-serif } .n { font-size: 10px; fill: #555 } .t { font-weight: "
         "bold; font-size: 14px } "
         ".g { stroke: #ddd } .l { fill: none; stroke-width: 2 }")


def colour(names, name):
    return COLOURS[names.index(name) % len(COLOURS)]


def text(x, y, words, kind="", anchor="start"):
    style = f' class="{kind}"' if kind else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}"{style} '
            f'text-anchor="{anchor}">{html.escape(words)}</text>')


def rectangle(x, y, width, height, fill):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{fill}"/>')


def document(width, height, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{STYLE}</style><rect width="100%" '
            f'height="100%" fill="white"/>\n'
            + "\n".join(body) + "\n</svg>\n")


# --- bars ---------------------------------------------------------------------------------------

BAR, GAP, LEFT, WIDTH = 14, 14, 200, 620


def bar_row(y, row, values, names, beyond):
    """values: {name: rate}. Relative to the fastest except for those of `beyond`, which are often
    far beyond the scale."""
    fastest = max((value for name, value in values.items() if name not in beyond),
                  default=max(values.values()))
    yield text(LEFT - 10, y + BAR * len(values) / 2 + 4, row, anchor="end")
    for name, value in values.items():
        length = min(value / fastest, 1) * WIDTH
        yield rectangle(LEFT, y, length, BAR - 2, colour(names, name))
        yield text(LEFT + length + 5, y + BAR - 4,
                   f"{value:,.0f}/s {name}" + (" (beyond the scale)" if value > fastest else ""),
                   "n")
        y += BAR


def bars(groups, names, beyond=()):
    """groups: {title: {row: {name: rate}}}."""
    body, y = [], 10
    for title, rows in groups.items():
        body.append(text(10, y + 14, title, "t"))
        y += 30
        for row, values in rows.items():
            body += bar_row(y, row, values, names, beyond)
            y += BAR * len(values) + GAP
    return document(LEFT + WIDTH + 240, y + 10, body)


# --- curves -------------------------------------------------------------------------------------

PLOT = (80, 40, 620, 340)  # left, top, width, height


class Axis:
    """Logarithmic, from and to values that the figures decide."""

    def __init__(self, values, begin, length):
        low, high = min(values), max(values)
        if low == high:
            low, high = low / 2, high * 2
        self.low, self.high, self.begin, self.length = math.log(low), math.log(high), begin, length

    def at(self, value):
        return self.begin + (math.log(value) - self.low) / (self.high - self.low) * self.length

    def ticks(self):
        """1, 2 and 5 times powers of ten that are on it; of ten alone where there are many."""
        exponents = range(math.floor(self.low / math.log(10)),
                          math.ceil(self.high / math.log(10)) + 1)
        steps = (1, 2, 5) if len(exponents) <= 4 else (1,)
        for value in (step * 10.0 ** exponent for exponent in exponents for step in steps):
            if self.low - 1e-9 <= math.log(value) <= self.high + 1e-9:
                yield value


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def grid(x_axis, y_axis, xs):
    left, top, width, height = PLOT
    for value in xs:
        x = x_axis.at(value)
        yield f'<line class="g" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + height}"/>'
        yield text(x, top + height + 16, number(value), "n", "middle")
    for value in y_axis.ticks():
        y = y_axis.at(value)
        yield f'<line class="g" x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}"/>'
        yield text(left - 6, y + 4, number(value), "n", "end")


def line(points, x_axis, y_axis, stroke):
    """points: {x: [y]}: the medians, and how far they were apart."""
    places = [(x_axis.at(x), y_axis.at(statistics.median(ys)), y_axis.at(min(ys)),
               y_axis.at(max(ys)))
              for x, ys in sorted(points.items())]
    yield (f'<polyline class="l" stroke="{stroke}" points="'
           + " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places) + '"/>')
    for x, y, low, high in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{stroke}"/>'
        yield f'<line x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}" stroke="{stroke}"/>'


def curves(title, x_label, y_label, lines):
    """lines: {name: {x: [y]}}."""
    left, top, width, height = PLOT
    xs = sorted({x for points in lines.values() for x in points})
    x_axis = Axis(xs, left, width)
    y_axis = Axis([y for points in lines.values() for ys in points.values() for y in ys],
                  top + height, -height)
    body = [text(10, 20, title, "t"),
            text(left + width / 2, top + height + 34, x_label, anchor="middle"),
            text(10, 34, y_label, "n")]
    body += grid(x_axis, y_axis, xs)
    names = list(lines)
    for i, (name, points) in enumerate(lines.items()):
        body += line(points, x_axis, y_axis, colour(names, name))
        body += [rectangle(left + width + 15, top + 18 * i, 12, 12, colour(names, name)),
                 text(left + width + 32, top + 18 * i + 10, name)]
    return document(left + width + 210, max(top + height + 45, top + 18 * len(names) + 20), body)
