# SPDX-License-Identifier: LGPL-2.1-or-later
"""Slow never stalls quick: the time of a getattr while many processes read data that is not in
memory, beside its time alone."""

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

FILES = 64
P99_AIM = 1000  # microseconds
LATE = ("volume slow\n    type debug/delay-gen\n    option delay-percentage 100%\n"
        "    option delay-duration 10000\n"
        "    option block on\n    option enable readv\n    subvolumes posix\nend-volume\n")
ASK = ["--attribute-timeout=0", "--entry-timeout=0", "--direct-io-mode=on"]
ON_DISK = "/var/tmp"
SIZE = 4 << 20  # of each file

SLOW_CHILD, COLD = "a child that takes 10 ms", "a cold file on a disk"
ONE, URING = ["--reader-thread-count=1"], ["--io-uring=required"]
CALLS = {SLOW_CHILD: 6000, COLD: 14000}  # a second, of all readers together

# Columns: what is read, what is above storage, options, readers, and the allowed time of a getattr
# as a multiple of its time alone. Rows without an option have no thread limit of their own.
ROWS = [
    (SLOW_CHILD, LATE, [], 64, 1.3),
    (SLOW_CHILD, LATE, ONE, 64, 1.3),
    (SLOW_CHILD, LATE, URING, 64, 1.3),
    (SLOW_CHILD, LATE, [], 400, 3),
    (SLOW_CHILD, LATE, URING, 400, 3),
    (SLOW_CHILD, LATE, [], 1000, 3),
    (SLOW_CHILD, LATE, URING, 1000, 3),
    (COLD, "", [], 64, 4),
    (COLD, "", ONE, 64, 4),
    (COLD, "", URING, 64, 4),
]


def name_of(what, options):
    return (what
            + {"--reader-thread-count=1": ", one thread for requests",
               "--io-uring=required": ", io_uring"}.get(" ".join(options), ""))


def read_for_ever(peer, number, counts):
    """A process that reads here and there; on a disk each part is dropped from memory before, with
    its read-ahead."""
    name = f"file{number % FILES}"
    backing = os.open(os.path.join(peer.back, name), os.O_RDONLY)
    mounted = os.open(os.path.join(peer.mnt, name), os.O_RDONLY)
    at = number * 65536
    while True:
        at = (at + 1040384) % (SIZE - 65536)
        os.posix_fadvise(backing, 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(mounted, 65536, at // 4096 * 4096)
        counts[number] += 1


def readers_begin(peer, readers, counts):
    children = []
    for number in range(readers):
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                read_for_ever(peer, number, counts)
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
    """Microseconds. With a pause after each call, so that it finds the daemon as an unhurried user
    does."""
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
            if ((os.path.realpath(folder) + "/").startswith(words[4].rstrip("/") + "/")
                and len(words[4]) >= len(best[0])):
                best = (words[4], kind)
    return best[1]


def processors():
    """Ticks since the start: all, and those that no process wanted."""
    with open("/proc/stat", encoding="utf-8") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]


def busy_share(before, after):
    return 1 - (after[1] - before[1]) / (after[0] - before[0])


def reads_so_far(counts):
    return sum(counts), time.monotonic()


def rate_between(before, after):
    return (after[0] - before[0]) / (after[1] - before[1])


def beside_readers(peer, readers, seconds):
    """A round's figures during the reads: the getattr's median and 99th of 100, processors' time,
    reads a second."""
    counts = memoryview(mmap.mmap(-1, 8 * readers)).cast("Q")  # each reader has its own
    children = readers_begin(peer, readers, counts)
    try:
        time.sleep(0.5 + readers / 1000)
        before, reads = processors(), reads_so_far(counts)
        median, late = median_getattr(peer, seconds)
        return {"load": median, "p99": late, "busy": busy_share(before, processors()),
                "reads": rate_between(reads, reads_so_far(counts))}
    finally:
        readers_end(children)


def measure_row(peer, readers, rounds, seconds):
    """{column: [a figure for each round]}."""
    columns = {}
    peer.start(False)
    try:
        fill(peer)
        for _ in range(rounds):
            median, late = median_getattr(peer, seconds)
            for column, value in {"idle": median, "idle_p99": late,
                                  **beside_readers(peer, readers, seconds)}.items():
                columns.setdefault(column, []).append(value)
    finally:
        peer.stop()
    return columns


def measure(bench, quick, rounds):
    """[{row, idle, idle_p99, load, p99, busy, reads, readers, ratio, aim, reads_aim}]:
    microseconds, the part of the processors' time used under load, and reads a second."""
    rows = []
    for number, (what, above, options, readers, aim) in enumerate(ROWS):
        name, on_disk = name_of(what, options), what == COLD
        if options == URING and not (bench.has_option("io-uring") and machine.text_of(machine.URING)
                                     == "Y"):
            bench.say(f"{name}: left out, it takes FUSE over io_uring")
            continue
        if on_disk and is_in_memory(ON_DISK):
            bench.say(f"{name}: left out, {ON_DISK} is in memory")
            continue
        back = tempfile.mkdtemp(prefix="windlass-slow-", dir=ON_DISK if on_disk else bench.dir)
        try:
            bench.progress(f"slow never stalls quick: {name}, {readers:,} readers")
            command = lambda peer, above=above: windlass_command(peer, above)
            columns = measure_row(Peer(bench, f"slow-{number}", command, [*ASK, *options], back),
                                  readers, rounds, 1 if quick else 3)
            ratio = statistics.median(load / idle for idle,
                                      load in zip(columns["idle"], columns["load"]))
            rows.append({"row": name, "readers": readers, "ratio": ratio, "aim": aim,
                         "reads_aim": CALLS[what], **columns})
        except Unusable as error:
            bench.say(f"{name}: left out: {error}")
        finally:
            shutil.rmtree(back, ignore_errors=True)
    return rows


def busy_of(row):
    return f"{statistics.median(row['busy']) * 100:.0f} %" if row.get("busy") else ""


def median_of(row, column):
    return f"{statistics.median(row[column]):,.1f}" if row.get(column) else ""


def missed(row):
    """What the row doesn't reach, in words."""
    reads = row.get("reads") and statistics.median(row["reads"])
    short = [(row["ratio"] > row["aim"], f"ratio above {row['aim']}"),
             (statistics.median(row["p99"]) > P99_AIM, f"99 of 100 above {P99_AIM:,}"),
             (reads and reads < row["reads_aim"], f"fewer than {row.get('reads_aim', 0):,} reads")]
    return ", ".join(words for is_missed, words in short if is_missed)


def print_rows(rows):
    print("\nmedian getattr in microseconds, alone and beside readers: slow never stalls quick\n")
    lines = [["", "readers", "alone", "99 of 100", "beside them", "99 of 100", "ratio",
              "reads a second", "CPUs busy", "below its aim in"]]
    for row in rows:
        numbers = [median_of(row, column) for column in ("idle", "idle_p99", "load", "p99")]
        reads = f"{statistics.median(row['reads']):,.0f}" if row.get("reads") else ""
        lines.append([row["row"], f"{row.get('readers', 64):,}", *numbers, f"{row['ratio']:.2f}",
                      reads, busy_of(row), missed(row)])
    print("\n".join(report.table(lines)))
