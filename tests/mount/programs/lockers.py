#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes that lock files as they are told: for record-locks.py and random-locks.py.

lockers.py ADDRESS FOLDER FD...: one of them, after an exec; its descriptors go on."""

import errno
import fcntl
import json
import os
import struct
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Client, Listener

READ, WRITE, NONE = fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK
F_OFD_GETLK, F_OFD_SETLK = 36, 37
FLOCK = "hhqqi4x"  # struct flock of 64-bit Linux


def errno_name(error):
    """EACCES and EAGAIN are the same to POSIX."""
    return {errno.EACCES: "EAGAIN", errno.EDEADLK: "EDEADLK"}.get(error.errno,
                                                                  errno.errorcode[error.errno])


class Hands:
    """What such a process can do. An answer is a string, or a tuple of what F_GETLK says."""

    def __init__(self, address, folder, fds):
        self.address, self.folder, self.fds = address, folder, fds

    def call(self, command, *arguments):
        try:
            return getattr(self, command)(*arguments) or "ok"
        except OSError as error:
            return errno_name(error)

    def open(self, fd, name, flags=os.O_RDWR):
        self.fds[fd] = os.open(os.path.join(self.folder, name), flags)

    def dup(self, fd, old):
        self.fds[fd] = os.dup(self.fds[old])

    def close(self, fd):
        os.close(self.fds.pop(fd))

    def lock(self, fd, kind, start=0, length=0, command=fcntl.F_SETLK):
        fcntl.fcntl(self.fds[fd], command, struct.pack(FLOCK, kind, os.SEEK_SET, start, length, 0))

    def wait(self, fd, kind, start=0, length=0):
        self.lock(fd, kind, start, length, fcntl.F_SETLKW)

    def description(self, fd, kind, start=0, length=0):
        self.lock(fd, kind, start, length, F_OFD_SETLK)

    def whole(self, fd, kind):
        fcntl.flock(self.fds[fd],
                    {READ: fcntl.LOCK_SH, WRITE: fcntl.LOCK_EX, NONE: fcntl.LOCK_UN}[kind]
                    | fcntl.LOCK_NB)

    def query(self, fd, kind, start=0, length=0):
        answer = struct.unpack(FLOCK,
                               fcntl.fcntl(self.fds[fd], fcntl.F_GETLK,
                                           struct.pack(FLOCK, kind, os.SEEK_SET, start, length, 0)))
        return "free" if answer[0] == NONE else (answer[0], *answer[2:])

    def in_thread(self, *command):
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.call(*command)))
        thread.start()
        thread.join()
        return answers[0]

    def fork(self):
        if os.fork() == 0:
            serve(self)

    def fork_to(self, *command):
        """A child does that and ends."""
        child = os.fork()
        if child == 0:
            self.call(*command)
            os._exit(0)
        os.waitpid(child, 0)

    def spawn(self):
        """A child executes another program, which holds the descriptors open until it is told to go
        on."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            for fd in (ours, *self.fds.values()):
                os.set_inheritable(fd, True)
            os.execv("/bin/sh", ["sh", "-c", f"read line <&{ours}"])
        os.close(ours)
        self.fds["spawned"] = theirs

    def execute(self):
        for fd in self.fds.values():
            os.set_inheritable(fd, True)
        os.execv(sys.executable, [sys.executable, __file__, self.address, self.folder,
                                  json.dumps(self.fds)])

    def end(self):
        os._exit(0)


def serve(hands):
    with Client(hands.address) as to:
        to.send(os.getpid())
        while True:
            to.send([hands.call(*command) for command in to.recv()])


class Locker:
    """One such process, seen from the test."""

    listener = None

    def __init__(self, folder):
        if not Locker.listener:
            Locker.listener = Listener(os.path.join(tempfile.mkdtemp(dir="."), "lockers"),
                                       backlog=64)
        if folder and os.fork() == 0:
            serve(Hands(Locker.listener.address, folder, {}))
        self.connect()

    def connect(self):
        self.to = Locker.listener.accept()
        self.pid = self.to.recv()

    def tell(self, *commands):
        self.to.send(commands)

    def hear(self):
        return self.to.recv()

    def do(self, *command):
        self.tell(command)
        return self.hear()[0]

    def fork(self):
        """The child."""
        self.tell(("fork",))
        child = Locker(None)
        self.hear()
        return child

    def execute(self):
        self.tell(("execute",))
        self.connect()

    def end(self):
        self.tell(("end",))
        self.ended()

    def kill(self):
        os.kill(self.pid, 9)
        self.ended()

    def ended(self):
        """Waits for that. The connection says nothing: a child may have it as well."""
        while not is_over(self.pid):
            time.sleep(0.001)


def is_over(pid):
    """It has ended, whether or not its parent knows, and its files are closed."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def waits(pid):
    """It is in fcntl, and sleeps."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
            return file.read() not in ("0", "") and in_fcntl(pid)
    except (FileNotFoundError, ProcessLookupError):
        return False


def in_fcntl(pid):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] == ("72" if os.uname().machine == "x86_64" else "25")


def wait_until(condition):
    while not condition():
        time.sleep(0.002)


if __name__ == "__main__":
    serve(Hands(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
