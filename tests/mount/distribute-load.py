#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes files of a volume until a file appears: distribute-load.py MOUNT SUMS STOP

SUMS has the files and their SHA-256, as sha256sum prints them, and is written anew at the end with
what must be there. Some files are kept open all the time."""

import hashlib
import os
import random
import sys

MOUNT, SUMS, STOP = sys.argv[1:]
CHUNK = 3000


class File:
    """What a file must contain, and a descriptor that is kept open or None."""

    def __init__(self, path, content, keep):
        self.path, self.content = path, bytearray(content)
        self.fd = os.open(self.whole(), os.O_RDWR) if keep else None

    def whole(self):
        return os.path.join(MOUNT, self.path)

    def write(self, draw):
        data = draw.randbytes(draw.randrange(1, CHUNK))
        at = draw.randrange(len(self.content) + 1)
        fd = self.fd if self.fd is not None else os.open(self.whole(), os.O_RDWR)
        assert os.pwrite(fd, data, at) == len(data)
        self.content[at:at + len(data)] = data
        assert os.pread(fd, len(data), at) == data, f"{self.path}: read something else at {at}"
        if self.fd is None:
            os.close(fd)

    def truncate(self, draw):
        size = draw.randrange(len(self.content) + 1)
        os.truncate(self.whole(), size)
        del self.content[size:]

    def rename(self, draw):
        path = os.path.join(os.path.dirname(self.path), f"file{draw.randrange(10**9)}")
        os.rename(self.whole(), os.path.join(MOUNT, path))
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
    if kind < 0.6:
        draw.choice(files).write(draw)
    elif kind < 0.7:
        draw.choice(files).truncate(draw)
    elif kind < 0.85:
        draw.choice(files).rename(draw)
    elif kind < 0.95:
        path = f"./d{draw.randrange(1, 5)}/file{draw.randrange(10**9)}"
        with open(os.path.join(MOUNT, path), "xb") as file:
            file.write(b"new")
        files.append(File(path, b"new", False))
    else:
        gone = files.pop(draw.randrange(len(files)))
        os.unlink(gone.whole())
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
    with open(SUMS, "w", encoding="utf-8") as lines:
        for file in files:
            lines.write(f"{hashlib.sha256(file.content).hexdigest()}  {file.path}\n")
    print(f"{steps} steps")


main()
