# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is measured. A section yields (row, what load answered) for one peer, and begins on a fresh mount."""

import os
import shutil

LIST_FILES = 50000


class Sizes:
    def __init__(self, quick):
        self.files = 1000 if quick else 5000
        self.calls = 2000 if quick else 20000
        self.megabytes = 64 if quick else 512
        self.blocks = 4096 if quick else 16384  # powers of 2
        self.known = [10000, 50000] if quick else [50000, 200000]


def meta(peer, run, sizes):
    """Cold is stat alone: open comes after it, and the second time the kernel may have the pages too."""
    files = sizes.files
    yield "create+write+close", run("create", files)
    peer.settle()
    run.cold()
    yield "stat cold", run("stat", files)
    yield "open+read+close", run("open", files)
    yield "the same again", run("open", files)
    yield "getattr", run("getattr", sizes.calls)
    yield "lookup of nothing", run("missing", files)
    yield "rename", run("rename", files)
    yield "unlink", run("unlink", files)
    remove_folders(peer)


def remove_folders(peer):
    for name in os.listdir(peer.mnt):
        path = os.path.join(peer.mnt, name)
        if name.startswith("d") and os.path.isdir(path):
            shutil.rmtree(path)


def readdir(peer, run, sizes):
    """The directory stays for the next round."""
    if not os.path.isdir(os.path.join(peer.mnt, "list", "d000")):
        os.mkdir(os.path.join(peer.mnt, "list"))
        run("create", LIST_FILES, 0, LIST_FILES, folder="list")
        run.cold()
    yield "ls -U of 50,000", run("list", 1, folder="list")
    run.cold()
    yield "ls -lU of 50,000", run("list-stat", 1, folder="list")


def data(peer, run, sizes):
    mebibyte = 1 << 20
    yield "write 1 MiB", run("write", sizes.megabytes, mebibyte)
    run.cold()
    yield "read 1 MiB cold", run("read", sizes.megabytes, mebibyte)
    run.cold()
    yield "random read 4 KiB", run("random-read", sizes.blocks)
    run.cold()
    yield "random write 4 KiB", run("random-write", sizes.blocks)
    os.unlink(os.path.join(peer.mnt, "data"))


COMPARED = {"meta": meta, "readdir": readdir, "data": data}


def forget(peer):
    """Has the kernel forget all it can; a second and third time for what it had in use lately."""
    for _ in range(3):
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("2\n")
        peer.settle()


def memory(bench, peer):
    """(files, KiB before, KiB known, KiB forgotten) for each number of files, Private_Dirty."""
    for files in bench.sizes.known:
        folder = os.path.join(peer.back, "known")
        os.mkdir(folder)
        bench.load("create", folder, files, 0)
        peer.start(False)
        peer.settle()
        before = peer.memory()[1]
        bench.load("stat", os.path.join(peer.mnt, "known"), files)
        peer.settle()
        known = peer.memory()[1]
        forget(peer)
        after = peer.memory()[1]
        peer.stop()
        shutil.rmtree(folder)
        yield files, before, known, after
