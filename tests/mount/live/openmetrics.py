#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is it OpenMetrics 1.0? openmetrics.py <TEXT; says what isn't right, and in which line."""

import re
import sys

SUFFIXES = {"gauge": [""], "counter": ["_total"], "info": ["_info"],
            "histogram": ["_bucket", "_count", "_sum"]}
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(" + LABEL + "(?:," + LABEL
                    + r")*)\})? (\d+(?:\.\d+)?)$")
META = re.compile(r"^# (TYPE|UNIT|HELP) ([a-z_]+) (.+)$")


def fail(number, what):
    sys.exit(f"line {number}: {what}")


def bucket(number, state, labels, value):
    bounds = [label for label in labels if label.startswith("le=")]
    if len(bounds) != 1:
        fail(number, "a bucket needs one label le")
    key = tuple(label for label in labels if not label.startswith("le="))
    bound = float(bounds[0][4:-1].replace("+Inf", "inf"))
    last = state.setdefault(key, (-1.0, 0.0))
    if bound <= last[0] or value < last[1]:
        fail(number, f"buckets must rise: {last} and {(bound, value)}")
    state[key] = (bound, value)


def main():
    text = sys.stdin.buffer.read().decode("utf-8")
    if not text.endswith("# EOF\n"):
        sys.exit("it doesn't end with # EOF")
    family, kind, seen, samples, buckets = None, None, set(), set(), {}
    for number, line in enumerate(text.split("\n")[:-2], 1):
        meta = META.match(line)
        if meta:
            what, name, value = meta.groups()
            if what == "TYPE":
                if name in seen:
                    fail(number, f"{name} comes twice")
                if value not in SUFFIXES:
                    fail(number, f"there is no type {value}")
                seen.add(name)
                family, kind, buckets = name, value, {}
            if name != family:
                fail(number, f"{what} of {name} among {family}")
            if what == "UNIT" and not name.endswith("_" + value):
                fail(number, f"{name} doesn't end with its unit {value}")
            continue
        sample = SAMPLE.match(line)
        if not sample:
            fail(number, f"neither a sample nor a comment: {line}")
        name, labels, value = sample.group(1), re.findall(LABEL,
                                                          sample.group(2)
                                                          or ""), float(sample.group(3))
        if name not in [family + suffix for suffix in SUFFIXES[kind]]:
            fail(number, f"{name} is no sample of {family}, {kind}")
        if (name, tuple(labels)) in samples:
            fail(number, f"twice: {line}")
        samples.add((name, tuple(labels)))
        if name.endswith("_bucket"):
            bucket(number, buckets, labels, value)
        if (kind == "histogram" and name.endswith("_count")
            and buckets.get(tuple(labels)) != (float("inf"), value)):
            fail(number, "_count is not what the bucket of +Inf has")
    print(len(samples))


main()
