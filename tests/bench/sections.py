# SPDX-License-Identifier: LGPL-2.1-or-later
"""The comparisons. A section yields (row, load's answer) for one peer, and begins on a fresh
mount."""

import json
import os
import resource
import shutil
import subprocess
import time

LIST_FILES = 50000
# The program itself, which also asks for two extended attributes of each file.
LS_XATTRS = "ls -lU, xattrs"


class Sizes:
    def __init__(self, quick):
        self.lower = 2000 if quick else 20000
        self.files = 500 if quick else 2000
        self.calls = 1000 if quick else 5000
        self.megabytes = 32 if quick else 256
        self.blocks = 2048 if quick else 8192  # powers of 2
        self.direct = 4096 if quick else 32768  # the same
        self.records = 20000 if quick else 200000
        self.listed = 5000 if quick else LIST_FILES
        self.tree = 300 if quick else 1500
        self.objects = 8 if quick else 48


def meta(peer, run, sizes):
    """Only stat is cold: open comes after it, and the second time the kernel may have the pages
    too."""
    files = sizes.files
    yield "create", run("create", files)
    peer.settle()
    run.cold()
    yield "stat cold", run("stat", files)
    yield "open-read", run("open", files)
    yield "again", run("open", files)
    yield "getattr", run("getattr", sizes.calls)
    yield "no name", run("missing", files)
    yield "rename", run("rename", files)
    yield "unlink", run("unlink", files)
    remove_folders(peer)


def remove_folders(peer):
    for name in os.listdir(peer.above):
        path = os.path.join(peer.above, name)
        if name.startswith("d") and os.path.isdir(path):
            shutil.rmtree(path)


def below(peer, run, sizes):
    """Files that were there before the mount: a view has them in its lower, and all is cold. Their
    directory has a new name, as a view keeps old names away."""
    name = f"below-{time.monotonic_ns()}"
    os.mkdir(os.path.join(peer.behind, name))
    run.bench.load("create", os.path.join(peer.behind, name), sizes.lower)
    run.cold()
    yield "stat cold, below", run("stat", sizes.lower, folder=name)
    yield "open-read, below", run("open", sizes.lower, folder=name)
    yield "again, below", run("open", sizes.lower, folder=name)
    run.cold()
    yield "ls -lU, below", run("list-stat", 1, folder=name)
    yield "rm -r, below", Command(run)(sizes.lower, "rm", "-r", name)
    shutil.rmtree(os.path.join(peer.behind, name), ignore_errors=True)


def readdir(peer, run, sizes):
    """The directory stays for the next round, and is made behind the mount, since making it is not
    measured."""
    if not os.path.isdir(os.path.join(peer.behind, "list")):
        os.mkdir(os.path.join(peer.behind, "list"))
        run.bench.load("create", os.path.join(peer.behind, "list"), sizes.listed, 0, sizes.listed)
        run.cold()
    yield "ls -U", run("list", 1, folder="list")
    run.cold()
    yield "ls -lU", run("list-stat", 1, folder="list")
    run.cold()
    yield LS_XATTRS, Command(run)(sizes.listed, "ls", "-lU", "list/d000")


def data(peer, run, sizes):
    mebibyte, small = 1 << 20, 4096
    yield "write 1M", run("write", sizes.megabytes, mebibyte)
    run.cold()
    yield "read 1M cold", run("read", sizes.megabytes, mebibyte)
    yield "read 1M again", run("read", sizes.megabytes, mebibyte)
    run.cold()
    yield "random read 4K", run("random-read", sizes.blocks)
    run.cold()
    yield "random write 4K", run("random-write", sizes.blocks)
    yield "write 4K", run("write", sizes.blocks, small)
    os.unlink(os.path.join(peer.mnt, "data"))


def direct(peer, run, sizes):
    """As databases, virtual machines and tests of disks do it, alone and four at a time. In memory
    there is no disk to wait for, so this measures the way there. The file is made behind the mount,
    and as large as the blocks of one row reach."""
    large, mebibyte = 128 << 10, 1 << 20
    run.bench.load("write", peer.behind, sizes.direct * 4096 // mebibyte, mebibyte)
    for name, work in (("read", "direct-random-read"), ("write", "direct-random-write")):
        for clients in (1, 4):
            yield f"{name} 4K x{clients}", run(work, sizes.direct, 4096, clients=clients)
    yield "read 128K", run("direct-read", sizes.direct // 32, large)
    yield "write 128K", run("direct-write", sizes.direct // 32, large)
    os.unlink(os.path.join(peer.behind, "data"))


def queues(peer, run, sizes):
    """Buffered transfers of 4 KiB at random places, four at a time, through the kernel's two queues
    for programs. The kernel polls a file before each buffered transfer of io_uring. fio tells the
    time without its own start."""
    run.bench.load("write", peer.behind, sizes.direct // 256, 1 << 20)
    for engine in ("io_uring", "libaio"):
        for way in ("read", "write"):
            run.cold()
            yield f"{engine} {way} 4K", fio(run, engine, way, sizes.direct)
    os.unlink(os.path.join(peer.behind, "data"))


def fio(run, engine, way, blocks):
    before, cpu = run.begin(), Command.children()
    done = subprocess.run([*run.on_cpu(), "fio", "--name=queue", "--filename=data",
                           f"--ioengine={engine}", f"--rw=rand{way}", "--iodepth=4", "--bs=4k",
                           f"--size={blocks * 4}k", "--fallocate=none", "--thread",
                           "--output-format=json"],
                          cwd=run.peer.mnt, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"fio --ioengine={engine}: {done.stderr.strip()[-200:]}")
    measured = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0][way]
    return run.end(before, measured["total_ios"], measured["runtime"] * 1000000,
                   Command.children() - cpu)


# --- what people do -----------------------------------------------------------------------------

def source_tree(bench):
    """A tar of a source tree, made once: folders of small files, and a Makefile with as many
    programs' parts as are built."""
    path = os.path.join(bench.tools, "tree.tar")
    if os.path.exists(path):
        return path
    top = os.path.join(bench.tools, "tree")
    for i in range(bench.sizes.tree):
        folder = os.path.join(top, f"part{i // 50}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"text{i}.txt"), "w", encoding="ascii") as file:
            file.write(f"file {i}\n" * (i * 37 % 1500))
    objects = [f"unit{i}" for i in range(bench.sizes.objects)]
    for name in objects:
        with open(os.path.join(top, name + ".c"), "w", encoding="ascii") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                       "#include <unistd.h>\n"
                       f"int {name} (const char *text)\n{{\n    return (int) strlen (text) + "
                       f"printf (\"%s\\n\", text);\n}}\n")
    with open(os.path.join(top, "Makefile"), "w", encoding="ascii") as file:
        file.write("all: " + " ".join(name + ".o" for name in objects) + "\n")
    subprocess.run(["tar", "-cf", path, "-C", bench.tools, "tree"], check=True)
    shutil.rmtree(top)
    return path


class Command:
    """An external command as work: so many operations, in the time that it took."""

    def __init__(self, run):
        self.run = run

    def __call__(self, operations, *command, folder=""):
        before, cpu = self.run.begin(), self.children()
        begin = time.monotonic_ns()
        done = subprocess.run([*self.run.on_cpu(), *command],
                              cwd=os.path.join(self.run.peer.mnt, folder), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False,
                              env=dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null",
                                       GIT_CONFIG_SYSTEM="/dev/null", GIT_OPTIONAL_LOCKS="0"))
        passed = time.monotonic_ns() - begin
        if done.returncode != 0:
            raise OSError(f"{' '.join(command[:2])}: {done.stderr.strip()[-200:]}")
        return self.run.end(before, operations, passed, self.children() - cpu)

    @staticmethod
    def children():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return int((used.ru_utime + used.ru_stime) * 1e9)


def work(peer, run, sizes):
    """Files a second, objects a second, and records that RocksDB adds to a new database, where
    db_bench is installed."""
    command, tar, files = Command(run), source_tree(run.bench), sizes.tree + sizes.objects + 1
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c",
           "safe.directory=*"]
    yield "untar", command(files, "tar", "-xf", tar)
    command(1, *git, "init", "-q", folder="tree")
    command(1, *git, "add", ".", folder="tree")
    command(1, *git, "commit", "-qm", "all", folder="tree")
    peer.settle()
    run.cold()
    yield "git status", command(files, *git, "status", folder="tree")
    yield "git again", command(files, *git, "status", folder="tree")
    yield "make -j", command(sizes.objects, "make", "-s", "-j", str(os.cpu_count()), folder="tree")
    yield "rm -r", command(files, "rm", "-r", "tree")
    if shutil.which("db_bench"):
        yield "fillseq", command(sizes.records, "db_bench", "--benchmarks=fillseq", "--db=records",
                                 f"--num={sizes.records}")
        shutil.rmtree(os.path.join(peer.mnt, "records"))


COMPARED = {"meta": meta, "below": below, "readdir": readdir, "data": data, "direct": direct,
            "work": work}
if shutil.which("fio"):
    COMPARED["queues"] = queues
# What waits for several processes at once says little on one CPU.
NOT_PINNED = ["work"]
