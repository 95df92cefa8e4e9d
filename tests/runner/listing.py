# SPDX-License-Identifier: LGPL-2.1-or-later
"""The list of tests, and in which builds, through what and when each of them runs.

A test is a file; a run is a test in one build, one way. The first run is ./check's, unless the test
says that it is long; all others are those of ./check --long."""

import os
import re
import zlib
from dataclasses import dataclass, field

SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TESTS = os.path.join(SOURCE, "tests")


@dataclass
class Test:
    name: str  # folder/name
    path: str
    kind: str  # script, program or replay
    headers: dict

    def builds(self):
        """The first is the one of ./check. Everything runs in the release build as well, unless the
        test says "only"."""
        builds = self.headers.get("builds",
                                  "debug" if self.kind == "program" else "release debug").split()
        if "only" in builds:
            builds.remove("only")
        elif "release" not in builds:
            builds.append("release")
        return builds

    def ways(self):
        """How the kernel's requests come to the daemon: a name decides which way is first."""
        if not self.name.startswith("mount/"):
            return [""]
        if "through" in self.headers:
            return self.headers["through"].split()
        ways = ["device", "io_uring"]
        return ways if zlib.crc32(self.name.encode()) % 2 else ways[::-1]

    def timeout(self):
        return int(self.headers.get("timeout", 600 if self.kind == "program" else 300))


@dataclass
class Run:
    test: Test
    build: str
    way: str = ""  # device, io_uring, or nothing for what mounts nothing
    kind: str = field(default="")
    long: bool = False
    more: bool = False  # what ran in ./check already, and now does more of the same

    def __post_init__(self):
        self.kind = self.kind or self.test.kind

    @property
    def name(self):
        folder = "valgrind" if self.kind.startswith("valgrind") else self.build
        return (f"{folder}/{self.test.name}" + ("/io_uring" if self.way == "io_uring" else "")
                + ("/more" if self.more else ""))


def read_headers(path):
    """Reads comments "# builds: debug tsan" or "/* builds: debug tsan */", and words alone on a
    line: "# alone"."""
    headers = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = re.fullmatch(r"(?:# |/\* )(builds|through|timeout|long|longer|alone)"
                                 r"(?:: (.*?))?(?: \*/)?\n", line)
            if found:
                headers.setdefault(found[1], found[2] or "")
    return headers


def folders():
    """The folders of tests; tests/mount is divided into rooms."""
    mount = os.path.join(TESTS, "mount")
    return ["unit", "graph"] + [f"mount/{room}" for room in sorted(os.listdir(mount))
                                if os.path.isdir(os.path.join(mount, room))]


def all_tests():
    tests = []
    for folder in folders():
        for entry in sorted(os.listdir(os.path.join(TESTS, folder))):
            path = os.path.join(TESTS, folder, entry)
            name, suffix = os.path.splitext(entry)
            if suffix == ".c" and entry.startswith("test_"):
                tests.append(Test(f"{folder}/{name}", path, "program", read_headers(path)))
            elif suffix == ".sh" and os.access(path, os.X_OK) and os.path.isfile(path):
                tests.append(Test(f"{folder}/{name}", path, "script", read_headers(path)))
    for target in sorted(os.listdir(os.path.join(TESTS, "fuzz", "corpus"))):
        path = os.path.join(TESTS, "fuzz", "corpus", target)
        tests.append(Test(f"fuzz/{target}", path, "replay", {"builds": "debug only"}))
    return tests


def runs_of(test):
    builds, ways = test.builds(), test.ways()
    runs = [Run(test, builds[0], way) for way in ways]
    runs += [Run(test, build, ways[-1]) for build in builds[1:]]
    for run in runs:
        if run.build == "valgrind":
            run.build, run.kind = "release", "valgrind " + test.kind
    if test.kind == "replay":
        runs.append(Run(test, "fuzz", "", "fuzz"))
    for run in runs[0 if "long" in test.headers else 1:]:
        run.long = True
    if "longer" in test.headers:
        runs.append(Run(test, builds[0], ways[0], long=True, more=True))
    return runs


def all_runs():
    return [run for test in all_tests() for run in runs_of(test)]


def is_wanted(run, words):
    """A word that is a run's whole name means that one alone; another one all that contain it."""
    return not words or any(word in run.name for word in words)


def choose(words, long):
    """long: None for all but the tests that are long, False for ./check's, True for what ./check
    --long adds. A named test is chosen, whenever it would run."""
    runs = all_runs()
    whole = {run.name for run in runs}.intersection(words)
    if whole == set(words) and words:
        return [run for run in runs if run.name in whole]
    chosen = [run for run in runs if is_wanted(run, words)]
    if long is None and not words:
        return [run for run in chosen if not run.more and "long" not in run.test.headers]
    in_turn = [run for run in chosen if long is None or run.long == long]
    return in_turn if in_turn or not words else chosen


def seconds_of_tests():
    """What each test took once, by its name: those that take longest are begun first."""
    with open(os.path.join(TESTS, "seconds"), encoding="utf-8") as file:
        return {name: float(seconds) for seconds, name in (line.split() for line in file)}
