#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes files of a volume until a file appears: distribute-load.py MOUNT SUMS STOP

SUMS has the files and their SHA-256, as sha256sum prints them, and is written anew at the end with
what must be there. Some files are kept open all the time. Before it ends it reads all files, and
prints how one differs from what was written, with its last changes."""

import fcntl
import hashlib
import os
import random
import stat
import sys
import time

MOUNT, SUMS, STOP = sys.argv[1:]
CHUNK = 3000
GONE = {}  # names that are no more, and the files that had them


class File:
    """What a file must contain, and a descriptor that is kept open or None."""

    def __init__(self, path, content, keep):
        self.path, self.content, self.changes = path, bytearray(content), []
        self.mode = self.mode_before = self.value = None
        self.fd = os.open(self.whole(), os.O_RDWR) if keep else None

    def whole(self):
        return os.path.join(MOUNT, self.path)

    def note(self, change):
        self.changes.append(f"{time.strftime('%T')} {change}")

    def difference(self):
        """How the file differs, or None."""
        with open(self.whole(), "rb") as file:
            found = file.read()
        mode = stat.S_IMODE(os.stat(self.whole()).st_mode)
        if self.mode is not None and mode not in (self.mode, self.mode_before):
            return f"{self.path}: mode {mode:o}, not {self.mode:o}"
        if self.value and os.getxattr(self.whole(), "user.test") != self.value:
            return f"{self.path}: the extended attribute is not {self.value}"
        if found == self.content:
            return None
        first = next((i for i, pair in enumerate(zip(found, self.content)) if pair[0] != pair[1]),
                     min(len(found), len(self.content)))
        last = next((i for i, pair in enumerate(zip(found[::-1], self.content[::-1]))
                     if pair[0] != pair[1]), 0)
        return (f"{self.path}: {len(self.content)} bytes were written, {len(found)} are there; the "
                f"first that differs is {first}, the last {len(found) - last}; its last changes: "
                + "; ".join(self.changes[-8:]))

    def write(self, draw):
        data = draw.randbytes(draw.randrange(1, CHUNK))
        at = draw.randrange(len(self.content) + 1)
        fd = self.fd if self.fd is not None else os.open(self.whole(), os.O_RDWR)
        self.note(f"write {len(data)} at {at}{'' if self.fd is None else ' (kept open)'}")
        assert os.pwrite(fd, data, at) == len(data)
        self.content[at:at + len(data)] = data
        assert os.pread(fd, len(data), at) == data, f"{self.path}: read something else at {at}"
        if self.fd is None:
            os.close(fd)

    def truncate(self, draw):
        size = draw.randrange(len(self.content) + 1)
        self.note(f"truncate to {size}")
        os.truncate(self.whole(), size)
        del self.content[size:]

    def chmod(self, draw):
        """A rebalance that begins with the file sets the mode that it has read before."""
        self.mode_before = stat.S_IMODE(os.stat(self.whole()).st_mode)
        self.mode = draw.choice([0o600, 0o640, 0o755, 0o700])
        self.note(f"chmod {self.mode:o}")
        os.chmod(self.whole(), self.mode)

    def setxattr(self, draw):
        self.value = draw.randbytes(8)
        self.note("setxattr")
        os.setxattr(self.whole(), "user.test", self.value)

    def lock(self, _draw):
        fd = self.fd if self.fd is not None else os.open(self.whole(), os.O_RDWR)
        self.note("lock")
        fcntl.lockf(fd, fcntl.LOCK_EX)
        fcntl.lockf(fd, fcntl.LOCK_UN)
        if self.fd is None:
            os.close(fd)

    def rename(self, draw):
        path = os.path.join(os.path.dirname(self.path), f"file{draw.randrange(10**9)}")
        self.note(f"rename {self.path} {path}")
        os.rename(self.whole(), os.path.join(MOUNT, path))
        GONE[self.path] = self
        self.path = path


def read_files(draw):
    files = []
    with open(SUMS, encoding="utf-8") as lines:
        for line in lines:
            path = line.split("  ", 1)[1].rstrip("\n")
            with open(os.path.join(MOUNT, path), "rb") as file:
                files.append(File(path, file.read(), draw.random() < 0.1))
            assert hashlib.sha256(files[-1].content).hexdigest() == line.split()[0], path
    return files


def step(files, draw):
    kind = draw.random()
    if kind < 0.5:
        draw.choice(files).write(draw)
    elif kind < 0.6:
        draw.choice(files).truncate(draw)
    elif kind < 0.7:
        draw.choice([File.chmod, File.setxattr, File.lock])(draw.choice(files), draw)
    elif kind < 0.85:
        draw.choice(files).rename(draw)
    elif kind < 0.95:
        path = f"./d{draw.randrange(1, 5)}/file{draw.randrange(10**9)}"
        with open(os.path.join(MOUNT, path), "xb") as file:
            file.write(b"new")
        files.append(File(path, b"new", False))
    else:
        gone = files.pop(draw.randrange(len(files)))
        gone.note("unlink")
        os.unlink(gone.whole())
        GONE[gone.path] = gone
        if gone.fd is not None:
            os.close(gone.fd)


def main():
    seed = random.randrange(10**6)
    draw = random.Random(seed)
    print(f"seed {seed}")
    files = read_files(draw)
    print("ready")
    steps = 0
    while not os.path.exists(STOP):
        try:
            step(files, draw)
        except OSError as problem:
            print(f"step {steps}: {problem}")
            raise
        steps += 1
    for file in files:
        if file.fd is not None:
            os.fsync(file.fd)
            os.close(file.fd)
    differences = [line for line in (file.difference() for file in files) if line]
    differences += [f"{path} is still there: {'; '.join(file.changes[-8:])}"
                    for path, file in GONE.items() if os.path.lexists(os.path.join(MOUNT, path))]
    if differences:
        sys.exit("\n".join(differences))
    with open(SUMS, "w", encoding="utf-8") as lines:
        for file in files:
            lines.write(f"{hashlib.sha256(file.content).hexdigest()}  {file.path}\n")
    print(f"{steps} steps")


main()
