#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""exactly.py WINDLASS MOUNT VOLFILE RECORDS STEPS roomy|full [PAUSE]: eight processes make STEPS
operations each, while this one reloads, changes the graph, and fills the disk of the log, with
PAUSE seconds in between. Then it compares."""

import collections
import errno
import json
import os
import subprocess
import sys
import time

windlass, mount, volfile, records, steps, disk = sys.argv[1:7]
steps = int(steps)
pause = float(sys.argv[7]) if len(sys.argv) > 7 else 0
PROCESSES = 8
SHARED = "shared"  # the name of a directory that all processes make and remove


def work(number):
    """Returns how often each operation was made on each path: {(operation, path, result): n}."""
    done = collections.Counter()
    own = f"/p{number}"

    def act(operation, path, call):
        try:
            call()
            result = "ok"
        except OSError as error:
            result = errno.errorcode[error.errno]
        # The kernel may answer these itself, by a lookup: they are no operations then.
        if (operation, result) not in (("mkdir", "EEXIST"), ("rmdir", "ENOENT")):
            done[operation, path, result] += 1

    def write(path, flags):
        fd = os.open(mount + path, os.O_RDWR | flags, 0o644)
        act("writev", path, lambda: os.pwrite(fd, b"x" * 4096, 0))
        act("readv", path, lambda: os.pread(fd, 4096, 0))
        os.close(fd)

    made = 0
    while made < steps:
        path = f"{own}.{made}"
        act("create", path, lambda: os.close(os.open(mount + path, os.O_CREAT | os.O_EXCL, 0o600)))
        write(path, 0)
        act("rename", path, lambda: os.rename(mount + path, mount + path + "x"))
        act("unlink", path + "x", lambda: os.unlink(mount + path + "x"))
        made += 5
        if disk == "roomy":
            act("mkdir", "/" + SHARED, lambda: os.mkdir(f"{mount}/{SHARED}"))
            act("rmdir", "/" + SHARED, lambda: os.rmdir(f"{mount}/{SHARED}"))
            made += 2
    return done


def begin(number):
    """Starts a process that works, and writes to a file what it did."""
    pid = os.fork()
    if pid:
        return pid
    text = json.dumps([[*key, n] for key, n in work(number).items()])
    with open(f"done.{number}", "w", encoding="utf-8") as out:
        out.write(text)
    os._exit(0)


def ends(pids):
    """Takes those that have ended out of the set."""
    for pid in list(pids):
        if os.waitpid(pid, os.WNOHANG)[0]:
            pids.remove(pid)
    return not pids


def trouble(turn):
    """A reload, with another graph; and now and then a full disk."""
    with open(volfile, encoding="utf-8") as file:
        text = file.read()
    more = "\nvolume top\n    type encryption/rot-13\n    option pass-through on\n" \
           "    subvolumes audit-1\nend-volume\n"
    with open(volfile, "w", encoding="utf-8") as file:
        file.write(text.replace(more, "") if more in text else text + more)
    subprocess.run([windlass, "reload", mount], check=True, stdout=subprocess.DEVNULL)
    if disk == "full" and turn % 4 == 1:
        filler = f"{records}/filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
            except OSError:
                pass
        time.sleep(0.3)
        os.unlink(filler)


def is_full():
    """Whether the log has something to write still, so that its last line may be torn."""
    told = subprocess.run([windlass, "explain", mount], check=True, capture_output=True, text=True)
    return "the log takes no records now" in told.stdout


def all_lines():
    names = [name for name in os.listdir(records) if name.startswith("audit.log")]
    names.sort(key=lambda name: -int(name.rpartition(".")[2]) if name[-1].isdigit() else 0)
    for name in names:
        with open(f"{records}/{name}", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield json.loads(line)
                except ValueError as error:
                    sys.exit(f"{name}, line {number}: {error}: {line!r}")


def check_order(shared):
    """The mkdirs and rmdirs of one name that succeeded took turns, in an order that their numbers
    allow: the next one is the first to end of those that may come next."""
    left = {kind: [one for one in shared if one["operation"] == kind]
            for kind in ("mkdir", "rmdir")}
    for kind in left.values():
        kind.sort(key=lambda one: one["unwind"])
    now, kind, at = -1, "mkdir", {"mkdir": 0, "rmdir": 0}
    while at[kind] < len(left[kind]):
        one = left[kind][at[kind]]
        at[kind] += 1
        now = max(now, one["wind"])
        assert one["unwind"] >= now, f"{one} ended before what came before it began ({now})"
        kind = "rmdir" if kind == "mkdir" else "mkdir"
    assert at["mkdir"] == len(left["mkdir"]) and at["rmdir"] == len(left["rmdir"]), at


pids, turn = {begin(number) for number in range(PROCESSES)}, 0
while not ends(pids):
    trouble(turn)
    turn += 1
    time.sleep(pause)
expected = collections.Counter()
for number in range(PROCESSES):
    with open(f"done.{number}", encoding="utf-8") as file:
        for operation, path, result, n in json.load(file):
            expected[operation, path, result] += n
subprocess.run([windlass, "tell", mount, "-", "reopen-log"], check=True,
               stdout=subprocess.DEVNULL)
deadline = time.monotonic() + 60
while is_full() and time.monotonic() < deadline:
    time.sleep(0.05)
while True:
    lines = list(all_lines())
    seen = collections.Counter((one["operation"], one["path"], one["result"])
                               for one in lines if "operation" in one
                               and one["result"] not in ("EEXIST", "ENOENT"))
    gaps = [one for one in lines if "gap" in one]
    lost = sum(one["gap"] for one in gaps)
    total = sum(expected.values())
    if sum(seen.values()) + lost >= total or time.monotonic() > deadline:
        break
    time.sleep(0.2)
too_many = seen - expected
assert not too_many, f"recorded more often than done: {list(too_many.items())[:5]}"
missing = sum((expected - seen).values())
assert missing == lost, (f"{missing} operations of {total} are not recorded, {lost} are in gaps",
                         list((expected - seen).items())[:5])
numbers = [one["unwind"] for one in lines if "unwind" in one]
assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers), "numbers are not in order"
winds = [one["wind"] for one in lines if "wind" in one]
assert not set(winds) & set(numbers) and len(set(winds)) == len(winds), "a number came twice"
programs = {one["program"] for one in lines if "operation" in one}
assert programs == {"python3"}, programs
shared = [one for one in lines if one.get("path") == "/" + SHARED and one["result"] == "ok"]
if not gaps:
    check_order(shared)
print(f"{total} operations, {lost} in {len(gaps)} gaps, {turn} reloads")
