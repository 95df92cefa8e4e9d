# SPDX-License-Identifier: LGPL-2.1-or-later
"""Slow never stalls quick: what a getattr takes while many read what isn't in memory, beside what it takes while nobody does."""

import mmap
import os
import shutil
import signal
import statistics
import tempfile
import time

import machine
import report
from peers import Peer, Unusable, windlass_command

FILES, AIM = 64, 3
LATE = ("volume slow\n    type debug/delay-gen\n    option delay-percentage 100%\n    option delay-duration 10000\n"
        "    option block on\n    option enable readv\n    subvolumes posix\nend-volume\n")
ASK = ["--attribute-timeout=0", "--entry-timeout=0", "--direct-io-mode=on"]
ON_DISK = "/var/tmp"
SIZE = 4 << 20  # of each file

# Name, what is above storage, options, what it takes, whether it is on a disk, readers. Those without an option have no limit of their own to threads.
ROWS = [
    ("a child that takes 10 ms", LATE, [], (), False, 64),
    ("a child that takes 10 ms, one thread for requests", LATE, ["--reader-thread-count=1"], (), False, 64),
    ("a child that takes 10 ms, io_uring", LATE, ["--io-uring=required"], ("uring",), False, 64),
    ("a child that takes 10 ms, 400 readers", LATE, [], (), False, 400),
    ("a child that takes 10 ms, 400 readers, io_uring", LATE, ["--io-uring=required"], ("uring",), False, 400),
    ("a child that takes 10 ms, 1,000 readers", LATE, [], (), False, 1000),
    ("a child that takes 10 ms, 1,000 readers, io_uring", LATE, ["--io-uring=required"], ("uring",), False, 1000),
    ("a cold file on a disk", "", [], (), True, 64),
    ("a cold file on a disk, one thread for requests", "", ["--reader-thread-count=1"], (), True, 64),
    ("a cold file on a disk, io_uring", "", ["--io-uring=required"], ("uring",), True, 64),
]


def read_for_ever(peer, number):
    """A process that reads here and there; on a disk each part is dropped from memory before, with what was read ahead."""
    name = f"file{number % FILES}"
    backing = os.open(os.path.join(peer.back, name), os.O_RDONLY)
    mounted = os.open(os.path.join(peer.mnt, name), os.O_RDONLY)
    at = number * 65536
    while True:
        at = (at + 1040384) % (SIZE - 65536)
        os.posix_fadvise(backing, 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(mounted, 65536, at // 4096 * 4096)


def readers_begin(peer, readers):
    children = []
    for number in range(readers):
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                read_for_ever(peer, number)
            finally:
                os._exit(1)
        children.append(child)
    return children


def readers_end(children):
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)


def median_getattr(peer, seconds):
    """Microseconds. With a pause after each, so that it finds the daemon as a user does who isn't in a hurry."""
    took, path, until = [], os.path.join(peer.mnt, "quick"), time.monotonic() + seconds
    while time.monotonic() < until:
        begin = time.perf_counter_ns()
        os.stat(path)
        took.append((time.perf_counter_ns() - begin) / 1000)
        time.sleep(0.0005)
    return statistics.median(took), statistics.quantiles(took, n=100)[98]


def fill(peer):
    with open(os.path.join(peer.back, "quick"), "wb"):
        pass
    for number in range(FILES):
        with open(os.path.join(peer.back, f"file{number}"), "wb") as file:
            file.write(os.urandom(65536) * (SIZE // 65536))
            os.fsync(file.fileno())


def is_in_memory(folder):
    """tmpfs has no disk below it: what is dropped there stays."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(mmap.PAGESIZE))
        file.flush()
        os.fsync(file.fileno())
        return os.path.realpath(folder).startswith("/dev/shm") or "tmpfs" in filesystem_of(folder)


def filesystem_of(folder):
    best = ("", "")
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            kind = words[words.index("-") + 1]
            if (os.path.realpath(folder) + "/").startswith(words[4].rstrip("/") + "/") and len(words[4]) >= len(best[0]):
                best = (words[4], kind)
    return best[1]


def processors():
    """Ticks since the start: all, and those that no process wanted."""
    with open("/proc/stat", encoding="utf-8") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]


def busy_share(before, after):
    return 1 - (after[1] - before[1]) / (after[0] - before[0])


def measure_row(peer, readers, rounds, seconds):
    idle, idle_late, under_load, late, busy = [], [], [], [], []
    peer.start(False)
    try:
        fill(peer)
        for _ in range(rounds):
            median, worst = median_getattr(peer, seconds)
            idle.append(median)
            idle_late.append(worst)
            children = readers_begin(peer, readers)
            try:
                time.sleep(0.5 + readers / 1000)
                before = processors()
                median, worst = median_getattr(peer, seconds)
                busy.append(busy_share(before, processors()))
            finally:
                readers_end(children)
            under_load.append(median)
            late.append(worst)
    finally:
        peer.stop()
    return {"idle": idle, "idle_p99": idle_late, "load": under_load, "p99": late, "busy": busy, "readers": readers, "ratio": statistics.median(b / a for a, b in zip(idle, under_load)), "aim": AIM}


def measure(bench, quick, rounds):
    """[{row, idle, idle_p99, load, p99, busy, readers, ratio, aim}]: microseconds, and the part of the processors' time that was taken under load."""
    rows = []
    for number, (name, above, options, needs, on_disk, readers) in enumerate(ROWS):
        if "uring" in needs and not (bench.has_option("io-uring") and machine.text_of(machine.URING) == "Y"):
            bench.say(f"{name}: left out, it takes FUSE over io_uring")
            continue
        if on_disk and is_in_memory(ON_DISK):
            bench.say(f"{name}: left out, {ON_DISK} is in memory")
            continue
        back = tempfile.mkdtemp(prefix="windlass-slow-", dir=ON_DISK if on_disk else bench.dir)
        try:
            bench.progress(f"slow never stalls quick: {name}")
            command = lambda peer, above=above: windlass_command(peer, above)
            rows.append({"row": name, **measure_row(Peer(bench, f"slow-{number}", command, [*ASK, *options], back), readers, rounds, 1 if quick else 3)})
        except Unusable as error:
            bench.say(f"{name}: left out: {error}")
        finally:
            shutil.rmtree(back, ignore_errors=True)
    return rows


def busy_of(row):
    return f"{statistics.median(row['busy']) * 100:.0f} %" if row.get("busy") else ""


def median_of(row, column):
    return f"{statistics.median(row[column]):,.1f}" if row.get(column) else ""


def print_rows(rows):
    print("\nmedian getattr in microseconds, alone and beside readers: slow never stalls quick\n")
    lines = [["", "readers", "alone", "99 of 100", "beside them", "99 of 100", "CPUs busy", "ratio", "aim", ""]]
    for row in rows:
        numbers = [median_of(row, column) for column in ("idle", "idle_p99", "load", "p99")]
        lines.append([row["row"], f"{row.get('readers', 64):,}", *numbers, busy_of(row), f"{row['ratio']:.2f}", f"{row['aim']}",
                      "" if row["ratio"] <= row["aim"] else "above the aim"])
    print("\n".join(report.table(lines)))
