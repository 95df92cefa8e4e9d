#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random calls about locks, of six processes and their threads: each is made in two folders, and
has the same answer in both.

random-locks.py FOLDER FOLDER SEED COUNT [records]: with "records" record locks of processes alone,
as closing a file ends other locks a moment later on a mount that sends them on."""

import os
import random
import sys

from lockers import NONE, READ, WRITE, Locker

PROCESSES, FILES, BATCH = 6, 3, 8
folders, seed, count = sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4])
kinds = ["lock"] if "records" in sys.argv[5:] else ["lock", "lock", "description", "whole"]


class Process:
    """The same process in both folders."""

    def __init__(self, lockers):
        self.lockers = lockers
        self.fds = []

    def command(self, dice):
        if not self.fds or dice.random() < 0.04:
            self.fds.append(f"{len(self.fds)}{dice.random()}")
            return ("open", self.fds[-1], f"file{dice.randrange(FILES)}")
        fd = dice.choice(self.fds)
        if dice.random() < 0.03:
            self.fds.remove(fd)
            return ("close", fd)
        if dice.random() < 0.02:
            self.fds.append(f"{len(self.fds)}{dice.random()}")
            return ("dup", self.fds[-1], fd)
        if dice.random() < 0.02:
            return ("fork_to", "close", fd)
        kind = dice.choice([READ, WRITE, NONE])
        where = (dice.randrange(20), dice.choice([0, 1, 3, 10]))
        if dice.random() < 0.3:
            return ("query", fd, READ if kind == NONE else kind, *where)
        command = dice.choice(kinds)
        return (command, fd, kind) if command == "whole" else (command, fd, kind, *where)

    def batch(self, dice):
        commands = [self.command(dice) for _ in range(dice.randrange(1, BATCH))]
        return [("in_thread", *command) if dice.random() < 0.1 else command for command in commands]


def readable(answer, processes, side):
    if not isinstance(answer, tuple):
        return answer
    pids = [process.lockers[side].pid for process in processes]
    return (*answer[:3], f"process {pids.index(answer[3])}" if answer[3] in pids else answer[3])


def holders_differ(left, right):
    """Of several that hold the same lock to read any may be named."""
    return (left[:-1] != right[:-1] or left[0] != READ
            if isinstance(left, tuple) and isinstance(right, tuple) else True)


def compare(number, commands, answers, processes):
    for i, command in enumerate(commands):
        left, right = (readable(answers[side][i], processes, side) for side in (0, 1))
        if left != right and holders_differ(left, right):
            sys.exit(f"seed {seed}, process {number}, {command}: {left} in '{folders[0]}', {right} "
                     f"in '{folders[1]}'")


def main():
    dice = random.Random(seed)
    for folder in folders:
        for i in range(FILES):
            with open(os.path.join(folder, f"file{i}"), "wb"):
                pass
    processes = [Process([Locker(folder) for folder in folders]) for _ in range(PROCESSES)]
    done = 0
    while done < count:
        number = dice.randrange(PROCESSES)
        commands = processes[number].batch(dice)
        for locker in processes[number].lockers:
            locker.tell(*commands)
        compare(number, commands, [locker.hear() for locker in processes[number].lockers],
                processes)
        done += len(commands)
    for process in processes:
        for locker in process.lockers:
            locker.kill()


main()
