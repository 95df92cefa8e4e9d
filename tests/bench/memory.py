# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a daemon takes for each file that it knows, and what it keeps when they are forgotten."""

import os
import shutil
import time

import report
from peers import GLUSTERFS, GLUSTERFS_STACK, STACK, WINDLASS, Peer, Unusable

# Others of theirs keep the same.
PEERS = [WINDLASS, STACK, "bindfs", GLUSTERFS, GLUSTERFS_STACK, "hp", "ll"]

PATIENCE = 3  # seconds
WARM = 100  # files that are visited and forgotten before: what every daemon has once it runs
SLOW_FROM = 200000  # the others take minutes for more


def sizes(quick):
    return [5000] if quick else [16000, 200000, 1000000]


def forms(peers):
    """Windlass remembers some inodes for itself, up to its option lru-limit: measured with that,
    and without."""
    for peer in peers:
        if peer.name in PEERS:
            yield peer
        if peer.name == WINDLASS:
            yield Peer(peer.bench, peer.name + " --lru-limit=0", peer.command,
                       [*peer.options, "--lru-limit=0"])


def forgotten_memory(peer):
    """As peer.memory, once it has not shrunk for some seconds: free memory may be given back
    later."""
    best, since = peer.memory(), time.monotonic()
    while time.monotonic() < since + PATIENCE:
        time.sleep(0.2)
        now = peer.memory()
        if now[2] < best[2]:
            best, since = now, time.monotonic()
    return best


def visit(bench, peer, files):
    """KiB that the daemon wrote itself (Private_Dirty) before, with all known, with all forgotten;
    and resident at the peak."""
    peer.start(False)
    bench.load("stat", os.path.join(peer.mnt, "warm"), WARM)
    peer.forget()
    before = forgotten_memory(peer)[2]
    bench.load("stat", os.path.join(peer.mnt, "known"), files)
    peer.settle()
    known = peer.memory()[2]
    peer.forget()
    _, peak, forgotten = forgotten_memory(peer)
    return {"peer": peer.name, "files": files, "before": before, "known": known,
            "forgotten": forgotten, "peak": peak,
            "bytes": (known - before) * 1024 / files,
            "kept_bytes": (forgotten - before) * 1024 / files}


def made(bench, files):
    back = os.path.join(bench.dir, "memory")
    for name, count in (("warm", WARM), ("known", files)):
        os.makedirs(os.path.join(back, name))
        bench.load("create", os.path.join(back, name), count, 0)
    return back


def measure(bench, peers, quick, rows):
    """Adds to rows."""
    out = set()
    for files in sizes(quick):
        bench.progress(f"memory: making {files} files")
        back = made(bench, files)
        for peer in [form.over(back) for form in forms(peers)]:
            if peer.name in out or (files > SLOW_FROM and not peer.name.startswith(WINDLASS)):
                continue
            bench.progress(f"memory: {peer.name}, {files} files")
            try:
                rows.append(visit(bench, peer, files))
            except (Unusable, OSError) as error:
                out.add(peer.name)
                bench.say(f"{peer.name}: left out of memory: {error}")
            finally:
                peer.stop()
        shutil.rmtree(back)


def print_rows(rows):
    print("\nmemory that the daemon wrote itself (Private_Dirty), KiB: before, with all files "
          "known, and when they were forgotten\n")
    lines = [["", "files", "before", "known", "forgotten", "peak (resident)", "bytes/file",
              "kept bytes/file"]]
    for row in rows:
        numbers = [f"{row[column]:,}" for column in ("files", "before", "known", "forgotten",
                                                     "peak")]
        lines.append([row["peer"], *numbers, f"{row['bytes']:.0f}", f"{row['kept_bytes']:.1f}"])
    print("\n".join(report.table(lines)))
