#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks whether a file is a trace as Perfetto and chrome://tracing read it: strict JSON; each event
# with its fields; slices of a track nested or one after the other; arrows from a slice to a slice.
#
#   trace-events.py FILE [WORD...]      the words must be in the name of some slice
import json
import sys


def strict(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key comes twice: {keys}"
    return dict(pairs)


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


def ns(value):
    return round(value * 1000)


def track(event):
    return event["pid"], event["tid"]


def nested(slices):
    open_ends = []
    for begin, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], f"{name} at {begin} ends after what it is in"
        if end > begin:
            open_ends.append(end)


with open(sys.argv[1], encoding="utf-8", newline="") as file:
    trace = json.load(file, object_pairs_hook=strict, parse_constant=no_constant)
assert trace["displayTimeUnit"] == "ns"
tracks, starts, ends, names = {}, {}, {}, []
for event in trace["traceEvents"]:
    for key in ("ph", "pid", "tid", "ts", "name"):
        assert key in event, f"no {key} in {event}"
    assert isinstance(event["ts"], (int, float)) and event["ts"] >= 0
    phase = event["ph"]
    assert phase in "XsfM", f"an event of kind {phase}"
    if phase == "X":
        begin = ns(event["ts"])
        tracks.setdefault(track(event), []).append((begin, begin + ns(event["dur"]),
                                                    event["name"]))
        names.append(event["name"])
    elif phase == "s":
        assert event["id"] not in starts, f"two arrows begin as {event['id']}"
        starts[event["id"]] = event
    elif phase == "f":
        assert event["bp"] == "e" and event["id"] not in ends
        ends[event["id"]] = event
assert starts.keys() == ends.keys(), "an arrow without an end"
for slices in tracks.values():
    nested(slices)
for id_, start in starts.items():
    for event in (start, ends[id_]):
        assert any(begin <= ns(event["ts"]) <= end for begin, end,
                   _ in tracks[track(event)]), f"an arrow into nothing: {event}"
    assert start["ts"] <= ends[id_]["ts"], "an arrow into the past"
assert names, "no slice"
for word in sys.argv[2:]:
    assert any(word in name for name in names), f"no slice is called {word}"
print(f"{len(names)} slices on {len(tracks)} tracks, {len(starts)} arrows")
