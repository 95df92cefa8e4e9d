#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many files open at once on a mount whose daemon may have few descriptors: each behaves as an open
file does.

many-open.py MOUNT BACK COUNT: prints "open", and waits for a line; in the end "held", again for
each line."""

import errno
import fcntl
import mmap
import os
import sys

mount, back, count = sys.argv[1], sys.argv[2], int(sys.argv[3])


def name(i, top=mount):
    return os.path.join(top, f"open-{i:04d}")


def expect(what, wanted, got):
    if wanted != got:
        sys.exit(f"{what}: expected {wanted!r}, got {got!r}")


def refused(what, number, call, *arguments):
    try:
        call(*arguments)
    except OSError as e:
        expect(what, errno.errorcode[number], errno.errorcode[e.errno])
    else:
        sys.exit(f"{what}: expected {errno.errorcode[number]}")


def text(i):
    return f"this is file {i}\n".encode()


def content(i, top=back):
    with open(name(i, top), "rb") as file:
        return file.read()


def in_child(call, *arguments):
    """What call answers in a process of its own: a string."""
    ours, theirs = os.pipe()
    if os.fork() == 0:
        try:
            answer = call(*arguments) or "ok"
        except OSError as e:
            answer = errno.errorcode[e.errno]
        os.write(theirs, answer.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as file:
        answer = file.read()
    os.wait()
    return answer


def locks(fd, path):
    """Record locks and flock, from two processes."""
    def try_both():
        other = os.open(path, os.O_RDWR)
        said = []
        for call in (fcntl.lockf, fcntl.flock):
            try:
                call(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                said.append("locked")
                # The kernel tells of a close that ends a flock only later.
                call(other, fcntl.LOCK_UN)
            except BlockingIOError:
                said.append("busy")
        return " ".join(said)

    # From the first lock of a mount on a close waits until its locks are gone.
    fcntl.lockf(fd, fcntl.LOCK_EX)
    fcntl.lockf(fd, fcntl.LOCK_UN)
    expect("before there are locks", "locked locked", in_child(try_both))
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    expect("beside a record lock", "busy locked", in_child(try_both))
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.pwrite(fd, b"locked", 0)
    os.pread(fd, 6, 0)
    expect("beside both", "busy busy", in_child(try_both))
    fcntl.lockf(fd, fcntl.LOCK_UN)
    fcntl.flock(fd, fcntl.LOCK_UN)
    expect("afterwards", "locked locked", in_child(try_both))


def mapped(fd, i):
    os.ftruncate(fd, 3 * mmap.PAGESIZE)
    with mmap.mmap(fd, 3 * mmap.PAGESIZE) as memory:
        expect("a map", text(i), memory[:len(text(i))])
        memory[2 * mmap.PAGESIZE:2 * mmap.PAGESIZE + 4] = b"here"
        memory.flush()
        expect("what was written to a map, by read", b"here", os.pread(fd, 4, 2 * mmap.PAGESIZE))
    expect("what was written to a map, behind", b"here", content(i)[2 * mmap.PAGESIZE:][:4])


fds = [os.open(name(i), os.O_RDWR | (os.O_CREAT | os.O_EXCL if i % 2 else 0)) for i in range(count)]
directories = [os.scandir(os.path.join(mount, "dir")) for _ in range(20)]
seen = [{next(names).name for _ in range(5)} for names in directories]
print("open", flush=True)
sys.stdin.readline()

for i, fd in enumerate(fds):
    expect("a write", len(text(i)), os.pwrite(fd, text(i), 0))
for i, fd in enumerate(fds):
    expect("what is read", text(i), os.pread(fd, 100, 0))
    expect("what is behind", text(i), content(i))
    expect("a size", len(text(i)), os.fstat(fd).st_size)
    os.fsync(fd)

at = iter(range(count - 1, 0, -1))  # those that were opened last have no descriptor

i = next(at)
os.unlink(name(i))
expect("an unlinked file", (text(i), 0), (os.pread(fds[i], 100, 0), os.fstat(fds[i]).st_nlink))
os.pwrite(fds[i], b"gone", 0)
expect("an unlinked file that was written", b"gone", os.pread(fds[i], 4, 0))
unlinked = i

i = next(at)
os.rename(name(i), name(i) + "-renamed")
os.pwrite(fds[i], b"THIS", 0)
with open(name(i, back) + "-renamed", "rb") as file:
    expect("a renamed file", b"THIS", file.read(4))

i, j = next(at), next(at)
os.rename(name(i), name(j))
expect("a file whose name another one took", text(j), os.pread(fds[j], 100, 0))
expect("the file that took its name", text(i), content(j))

i = next(at)
locks(fds[i], name(i))

i = next(at)
mapped(fds[i], i)

i = next(at)
os.fchmod(fds[i], 0)
reader = os.open(name(i), os.O_RDONLY)
refused("a write through what was opened to read", errno.EBADF, os.pwrite, reader, b"x", 0)
appender = os.open(name(i), os.O_WRONLY | os.O_APPEND)
os.write(appender, b"one")
os.write(appender, b"two")
expect("what was appended", text(i) + b"onetwo", os.pread(reader, 100, 0))
cut = os.open(name(i), os.O_RDWR | os.O_TRUNC)
os.write(cut, b"abc")
os.write(cut, b"def")
expect("what was cut off once", b"abcdef", os.pread(reader, 100, 0))
os.posix_fallocate(cut, 0, 100)
expect("a size after fallocate", 100, os.fstat(reader).st_size)
os.setxattr(cut, "user.x", b"1")
expect("an extended attribute", b"1", os.getxattr(reader, "user.x"))
expect("copied bytes", 6, os.copy_file_range(reader, fds[next(at)], 6, 0, 200))

for names, some in zip(directories, seen):
    more = [entry.name for entry in names]
    expect("names that come twice", set(), some & set(more))
    expect("names", 3000, len(some) + len(more))
expect("an unlinked file in the end", b"gone", os.pread(fds[unlinked], 4, 0))

# Those that stay get descriptors when others are closed.
for fd in [reader, appender, cut] + fds[:-5]:
    os.close(fd)
while True:
    for fd in fds[-5:]:
        os.pwrite(fd, b"last", 0)
        os.fsync(fd)
    print("held" if os.pread(fds[-2], 4, 0) == b"last" else "lost", flush=True)
    if not sys.stdin.readline():
        break
