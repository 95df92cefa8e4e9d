#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The behaviour of record locks in a folder: one line for each step. The same lines come out
wherever locks are right.

record-locks.py FOLDER WAITERS [CASE...]: so many processes wait for one lock, and a quarter is
killed."""

import os
import signal
import sys

import lockers
from lockers import NONE, READ, WRITE, Locker

folder, waiters = sys.argv[1], int(sys.argv[2])
names = {}  # of processes, by number


def new(name, locker=None):
    locker = locker or Locker(folder)
    names[locker.pid] = name
    return locker


def say(what, answer):
    if isinstance(answer, tuple):
        kind, start, length, pid = answer
        answer = f"{'read' if kind == READ else 'write'} {start}+{length} of {names.get(pid, pid)}"
    print(f"    {what}: {answer}", flush=True)


class Case:
    """Two processes, a and b, with a file of its own."""

    def __init__(self, name):
        print(name)
        with open(os.path.join(folder, name.replace(" ", "-")), "wb") as file:
            file.write(bytes(100))
        self.file = name.replace(" ", "-")
        self.a, self.b = new("a"), new("b")
        self.b.do("open", "f", self.file)

    def hold(self, flags=os.O_RDWR, kind=WRITE, start=0, length=0):
        self.a.tell(("open", "f", self.file, flags), ("lock", "f", kind, start, length))
        opened, locked = self.a.hear()
        say("a opens", opened)
        say("a locks", locked)

    def ask(self, kind=WRITE, start=0, length=0):
        self.b.tell(("query", "f", kind, start, length), ("lock", "f", kind, start, length),
                    ("lock", "f", NONE))
        held, tried, _ = self.b.hear()
        say("b asks", held)
        say("b tries", tried)

    def over(self, *more):
        for locker in (self.a, self.b, *more):
            locker.kill()


def closes():
    for flags, kind in ((os.O_RDWR, WRITE), (os.O_RDONLY, READ), (os.O_WRONLY, WRITE)):
        case = Case(f"close {flags}")
        case.hold(flags, kind)
        case.ask()
        say("a closes", case.a.do("close", "f"))
        case.ask()
        case.over()


def duplicates():
    for which in ("g", "f"):
        case = Case(f"the duplicate {which} is closed")
        case.hold()
        case.a.do("dup", "g", "f")
        case.a.do("close", which)
        case.ask()
        case.over()
    case = Case("another descriptor is closed")
    case.a.do("open", "g", case.file, os.O_RDONLY)
    case.hold()
    case.a.do("close", "g")
    case.ask()
    case.over()


def forks():
    for what in ("closes", "dies", "unlocks"):
        case = Case(f"fork, then the parent {what}")
        case.hold()
        child = new("child", case.a.fork())
        say("the child tries", child.do("lock", "f", WRITE))
        if what == "closes":
            case.a.do("close", "f")
        elif what == "dies":
            case.a.kill()
        else:
            case.a.do("lock", "f", NONE)
        case.ask()
        say("the child tries", child.do("lock", "f", WRITE))
        case.ask()
        case.over(child)
    case = Case("a child closes")
    case.hold()
    case.a.do("fork_to", "close", "f")
    case.ask()
    case.over()


def executions():
    case = Case("exec")
    case.hold()
    case.a.execute()
    case.ask()
    say("a unlocks", case.a.do("lock", "f", NONE))
    case.ask()
    case.over()
    case = Case("an executed child keeps the descriptor")
    case.hold()
    case.a.do("spawn")
    case.ask()
    case.a.do("close", "f")
    case.ask()
    case.over()


def threads():
    case = Case("threads")
    case.a.do("open", "f", case.file)
    say("a's thread locks", case.a.do("in_thread", "lock", "f", WRITE, 0, 50))
    case.ask()
    say("a locks", case.a.do("lock", "f", WRITE, 20, 10))
    say("a's thread unlocks", case.a.do("in_thread", "lock", "f", NONE))
    case.ask()
    say("a's thread locks", case.a.do("in_thread", "lock", "f", WRITE))
    case.a.do("in_thread", "open", "g", case.file)
    case.a.do("in_thread", "close", "g")
    case.ask()
    case.over()


def deaths():
    for end in (Locker.kill, Locker.end):
        case = Case(f"the holder's {end.__name__}")
        case.hold()
        case.ask()
        end(case.a)
        case.ask()
        case.b.kill()


def ranges():
    case = Case("ranges")
    case.hold(start=0, length=100)
    for kind, start, length in ((NONE, 20, 10), (READ, 50, 10), (WRITE, 20, 10), (READ, 0, 0),
                                (NONE, 10, 0), (WRITE, 11, 1), (NONE, 0, 0)):
        say(f"a changes {kind} {start} {length}", case.a.do("lock", "f", kind, start, length))
        for asked in (READ, WRITE):
            for begin in (0, 15, 25, 55, 60, 200):
                case.ask(asked, begin, 10)
    case.over()


def readers():
    case = Case("two readers")
    case.hold(kind=READ, length=10)
    c = new("c")
    c.do("open", "f", case.file)
    say("b reads", case.b.do("lock", "f", READ, 0, 10))
    say("c asks", c.do("query", "f", WRITE, 0, 10))
    case.a.do("close", "f")
    say("c asks", c.do("query", "f", WRITE, 0, 10))
    case.over(c)


def circle(size):
    """Each locks its own byte, and waits for the next one's."""
    case = Case(f"a circle of {size}")
    all_of = [case.a, case.b] + [new("c") for _ in range(2, size)]
    for i, locker in enumerate(all_of):
        locker.do("open", "g", case.file)
        say("locks", locker.do("lock", "g", WRITE, i, 1))
    for i, locker in enumerate(all_of):
        locker.tell(("wait", "g", WRITE, (i + 1) % size, 1))
    lockers.wait_until(lambda: any(locker.to.poll() for locker in all_of))
    [told] = [i for i in range(size) if all_of[i].to.poll()]
    say("one is told", all_of[told].hear()[0])
    for i in range(size):  # who is told gives way, and so does each that gets what it waits for
        locker = all_of[told - i]
        if i > 0:
            say("another is told", locker.hear()[0])
        locker.do("lock", "g", NONE)
    case.over(*all_of[2:])


def waiter(path, to):
    try:
        fd = os.open(path, os.O_RDWR)
        lockers.fcntl.lockf(fd, lockers.fcntl.LOCK_EX, 1)
        os.write(to, b"x")
        os._exit(0)
    except OSError as error:
        say("a waiter is told", lockers.errno_name(error))
        os._exit(1)


def many():
    case = Case(f"{waiters} waiters")
    case.hold(length=1)
    ours, theirs = os.pipe()
    pids = []
    for _ in range(waiters):
        pids.append(os.fork())
        if pids[-1] == 0:
            waiter(os.path.join(folder, case.file), theirs)
    os.close(theirs)
    for pid in pids:
        lockers.wait_until(lambda pid=pid: lockers.waits(pid))
    for pid in pids[::4]:
        os.kill(pid, signal.SIGKILL)
    killed = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids[::4]]
    say("killed", killed.count(-signal.SIGKILL))
    case.a.do("close", "f")
    with os.fdopen(ours, "rb") as file:
        say("got it", file.read().count(b"x"))
    case.ask()
    case.over()


def circles():
    circle(2)
    circle(3)


for run in (closes, duplicates, forks, executions, threads, deaths, ranges, readers, circles, many):
    if run.__name__ in sys.argv[3:] or not sys.argv[3:]:
        run()
