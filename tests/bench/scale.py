# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cost of size: translators, clients, files, depth of directories, clients of dbench. Curves,
in rounds in which all peers take turns."""

import ctypes
import os
import re
import shutil
import statistics
import subprocess
import time

from peers import (BARE, CLASSIC, EXCLUSIVE, GLUSTERFS, GLUSTERFS_STACK, HP_SEES, ROT13, STACK,
                   STACK_WITHOUT, URING, WINDLASS, Peer, Unusable,
                   glusterfs_command, windlass_command)

PEERS = [BARE, WINDLASS, CLASSIC, URING, GLUSTERFS, "hp-uring", "ll-uring", "bindfs-mt"]
PEERS_OF_DBENCH = [*PEERS, EXCLUSIVE, ROT13, ROT13 + "-exclusive-wb", STACK, STACK_WITHOUT,
                   STACK + "-exclusive-wb", GLUSTERFS_STACK, HP_SEES + "-uring"]
# Files: only Windlass and the bare directory are asked for more, the others take minutes.
SLOW_FROM = 100000
KIND = "debug/io-stats"  # acts on every operation, and GlusterFS has it too


class Sizes:
    def __init__(self, quick):
        self.translators = [1, 4, 16] if quick else [1, 2, 4, 8, 16, 32]
        self.clients = [1, 4] if quick else [1, 2, 4, 8, 16, 32, 64]
        self.files = [1000, 10000] if quick else [1000, 10000, 100000, 1000000]
        self.depth = [1, 8] if quick else [1, 2, 4, 8, 16, 32, 64]
        self.dbench = [1, 4] if quick else [1, 4, 16, 64]
        self.seconds = 2 if quick else 5
        self.calls = 2000 if quick else 10000
        self.chains = 50 if quick else 200


class Curves:
    """Collects points, and leaves out for the rest of a chart who can't."""

    def __init__(self, bench, figures):
        self.bench, self.figures, self.out = bench, figures, set()

    def add(self, chart, x_label, y_label, name, x, y):
        lines = self.figures["curves"].setdefault(chart, {"x": x_label, "y": y_label,
                                                          "lines": {}})["lines"]
        lines.setdefault(name, {}).setdefault(str(x), []).append(y)

    def each(self, what, peers, number):
        """The peers, beginning with another one each round; a failure of one does not stop the
        others."""
        for i in range(len(peers)):
            peer = peers[(i + number) % len(peers)]
            if (what.split(" (", maxsplit=1)[0], peer.name) not in self.out:
                self.bench.progress(f"{what}, round {number + 1}: {peer.name}")
                yield peer

    def tried(self, what, peer, function, *arguments):
        try:
            function(peer, *arguments)
        except (Unusable, OSError) as error:
            self.out.add((what, peer.name))
            self.bench.say(f"{peer.name}: left out of {what} from here on: {error}")
        finally:
            peer.stop()


def microseconds(answer):
    return answer[1] / answer[0] / 1000


# --- translators --------------------------------------------------------------------------------

def layers(count, kind=KIND):
    text, below = "", "posix"
    for i in range(count):
        text += f"volume v{i}\n    type {kind}\n    subvolumes {below}\nend-volume\n"
        below = f"v{i}"
    return text


def translators(bench, curves, peers, sizes, number):
    """One CPU for daemon and client: the difference is small beside the time of a processor that
    has to wake."""
    makers = [(peer, command) for peer in peers
              for command in [windlass_command if peer.name.startswith(WINDLASS)
                              else glusterfs_command if peer.name == GLUSTERFS else None]
              if command]
    for count in sizes.translators:
        stacks = [Peer(bench, f"{peer.name}-{count}", lambda of,
                       make=command: make(of, layers(count)), peer.options, peer.back)
                  for peer, command in makers]
        for stack in curves.each("translators", stacks, number):
            curves.tried("translators", stack, translators_of, bench, curves, sizes, count)


def translators_of(stack, bench, curves, sizes, count):
    name = stack.name.rsplit("-", 1)[0]
    stack.start(True)
    bench.load("create", stack.mnt, 1, pinned=True)
    bench.load("write", stack.mnt, 16, 4096, pinned=True)
    for work, numbers in (("getattr", [sizes.calls]), ("write", [sizes.calls // 2, 4096])):
        answer = bench.load(work, stack.mnt, *numbers, pinned=True)
        curves.add(f"translators-{work}", f"translators ({KIND}), one CPU", f"us for one {work}",
                   name, count, microseconds(answer))
    remove(stack)


def remove(peer):
    for name in os.listdir(peer.back):
        path = os.path.join(peer.back, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif name != ".":
            os.unlink(path)


# --- clients ------------------------------------------------------------------------------------

def clients(bench, curves, peers, sizes, number):
    for peer in curves.each("clients", peers, number):
        curves.tried("clients", peer, clients_of, bench, curves, sizes)


def clients_of(peer, bench, curves, sizes):
    peer.start(False)
    bench.load("create", peer.mnt, 256)
    bench.load("write", peer.mnt, 4096, 4096)
    for count in sizes.clients:
        peer.restart(False)
        for work, calls in (("getattr", sizes.calls), ("open", 256), ("random-read", 4096)):
            operations, nanoseconds, _ = bench.load(work, peer.mnt, calls, clients=count)
            curves.add(f"clients-{work}", "clients at once, all CPUs",
                       f"{work} a second, all together", peer.name, count,
                       operations * 1e9 / nanoseconds)
    remove(peer)


# --- files --------------------------------------------------------------------------------------

def files(bench, curves, peers, sizes, number):
    """All share one directory, which takes a while to make."""
    for count in sizes.files:
        if number > 0 and count > SLOW_FROM:
            continue
        back = os.path.join(bench.dir, "files")
        os.makedirs(os.path.join(back, "many"))
        bench.progress(f"files: making {count}, twice")
        bench.load("create", back, count, 0)
        bench.load("create", os.path.join(back, "many"), count, 0, count)
        for peer in curves.each(f"files ({count})", peers, number):
            if count <= SLOW_FROM or peer.name in (BARE, WINDLASS):
                curves.tried("files", peer.over(back), files_of, bench, curves, count)
        shutil.rmtree(back)


def files_of(peer, bench, curves, count):
    x_label = "files"
    peer.start(False)
    answer = bench.load("stat", peer.mnt, count, 0)
    curves.add("files-stat", x_label, "us for one cold stat", peer.name, count,
               microseconds(answer))
    if peer.daemon:
        curves.add("files-memory", x_label, "KiB resident, all of them known", peer.name, count,
                   peer.memory()[0])
    peer.restart(False)
    answer = bench.load("list", os.path.join(peer.mnt, "many"), 1)
    curves.add("files-list", "files in one directory", "us an entry of ls -U", peer.name, count,
               microseconds(answer))


# --- depth --------------------------------------------------------------------------------------

def depth(bench, curves, peers, sizes, number):
    for levels in sizes.depth:
        back = os.path.join(bench.dir, "chains")
        os.makedirs(back)
        bench.load("chain-make", back, sizes.chains, levels)
        for peer in curves.each(f"depth ({levels})", peers, number):
            curves.tried("depth", peer.over(back), depth_of, bench, curves, sizes, levels)
        shutil.rmtree(back)


def depth_of(peer, bench, curves, sizes, levels):
    peer.start(False)
    for chart in ("cold", "warm"):
        answer = bench.load("chain-stat", peer.mnt, sizes.chains, levels)
        curves.add(f"depth-{chart}", "directories above the file", f"us for one {chart} stat",
                   peer.name, levels, microseconds(answer))


# --- dbench -------------------------------------------------------------------------------------

LOAD_FILE = "/usr/share/dbench/client.txt"


def dbench(bench, curves, peers, sizes, number):
    if not shutil.which("dbench") or not os.path.exists(LOAD_FILE):
        bench.say("dbench: left out, it isn't installed")
        return
    for peer in curves.each("dbench", peers, number):
        curves.tried("dbench", peer, dbench_of, curves, sizes)


def dbench_of(peer, curves, sizes):
    """dbench prints only how long its slowest call took. So the time of one call in a hundred is
    measured beside it, of a getattr that no cache may answer."""
    for count in sizes.dbench:
        peer.start(False)
        folder = os.path.join(peer.mnt, "dbench")
        os.mkdir(folder)
        command = ["dbench", "-t", str(sizes.seconds), "-c", LOAD_FILE, "-D", folder, str(count)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as running:
            late = late_getattr(folder, running)
            said = running.stdout.read()
        found = re.search(r"^Throughput ([0-9.]+) MB/sec.*max_latency=([0-9.]+) ms", said, re.M)
        if not found:
            raise Unusable(f"dbench: {said.strip()[-200:]}")
        for chart, y_label, value in (("dbench", "MB a second, all together",
                                       float(found.group(1))),
                                      ("dbench-slowest", "ms of the slowest call",
                                       float(found.group(2))),
                                      ("dbench-listing", "us for a listing, on average",
                                       listing_of(said)),
                                      ("dbench-getattr",
                                       "us of the 99th of 100 getattrs beside them", late)):
            curves.add(chart, "clients of dbench, all CPUs", y_label, peer.name, count, value)
        peer.stop()
        remove(peer)


def listing_of(said):
    """Microseconds of dbench's Find, which lists a directory of some twenty names. Its table:
    operation, count, average and most milliseconds."""
    averages = re.findall(r"^\s*Find\s+\d+\s+([0-9.]+)", said, re.M)
    return float(averages[-1]) * 1000 if averages else 0


def late_getattr(folder, running):
    """Microseconds; of one each two milliseconds while that runs."""
    at_empty_path, force_sync, basic_stats = 0x1000, 0x2000, 0x7ff
    libc, answer, took = ctypes.CDLL(None), ctypes.create_string_buffer(256), []
    directory = os.open(folder, os.O_RDONLY)
    try:
        while running.poll() is None:
            begin = time.perf_counter_ns()
            libc.statx(directory, b"", at_empty_path | force_sync, basic_stats, answer)
            took.append((time.perf_counter_ns() - begin) / 1000)
            time.sleep(0.002)
    finally:
        os.close(directory)
    return statistics.quantiles(took, n=100)[98] if len(took) > 1 else 0


# --- all of it ----------------------------------------------------------------------------------

CHARTS = {"translators": translators, "clients": clients, "files": files, "depth": depth,
          "dbench": dbench}


def measure(bench, figures, peers, charts, rounds, quick):
    curves, sizes = Curves(bench, figures), Sizes(quick)
    for number in range(rounds):
        for chart in charts:
            names = PEERS_OF_DBENCH if chart == "dbench" else PEERS
            CHARTS[chart](bench, curves, [peer for peer in peers if peer.name in names], sizes,
                          number)


def slope(points):
    """What one more costs, by least squares over the medians; and the figure of the first."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0
