# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes directories at random, all in the same way.

    change-trees.py [--may-refuse] [--no-links | --only-links] SEED NUMBER DIRECTORY...

Ends with an error if an operation has another result in one of the directories, or if their trees
differ in names, types, modes, sizes or bytes. With --may-refuse the first directory may refuse a
rename with EXDEV: then mv does it, which copies and removes. --no-links makes no hard links,
--only-links nothing else."""

import ctypes
import errno
import os
import random
import stat
import subprocess
import sys

NAMES = "abcde"
AT_FDCWD, RENAME_EXCHANGE = -100, 2
libc = ctypes.CDLL(None, use_errno=True)


def write(path, text, offset, flags):
    fd = os.open(path, flags, 0o644)
    try:
        os.pwrite(fd, text, offset)
    finally:
        os.close(fd)


def exchange(one, other):
    if libc.renameat2(AT_FDCWD, one.encode(), AT_FDCWD, other.encode(), RENAME_EXCHANGE) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def operation(chance):
    """A name for messages, its paths, and a function of the paths in a directory."""
    def path():
        return "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 3)))

    one, two, offset = path(), path(), chance.randrange(100)
    text = bytes([chance.randrange(97, 123)]) * chance.randint(1, 50)
    mode = chance.choice((0o600, 0o644, 0o755, 0o700))
    make, only = os.O_CREAT | os.O_RDWR, os.O_CREAT | os.O_EXCL | os.O_WRONLY
    return chance.choice((
        ("mkdir", (one,), os.mkdir),
        ("mkdir", (one,), os.mkdir),
        ("create", (one,), lambda p: write(p, text, offset, make)),
        ("create", (one,), lambda p: write(p, text, offset, make)),
        ("create new", (one,), lambda p: write(p, text, offset, only)),
        ("write", (one,), lambda p: write(p, text, offset, os.O_WRONLY)),
        ("append", (one,), lambda p: write(p, text, offset, os.O_WRONLY | os.O_APPEND)),
        ("unlink", (one,), os.unlink),
        ("rmdir", (one,), os.rmdir),
        ("rename", (one, two), os.rename),
        ("rename", (one, two), os.rename),
        ("exchange", (one, two), exchange),
        ("symlink", (one,), lambda p: os.symlink(two, p)),
        ("link", (one, two), lambda p, q: os.link(p, q, follow_symlinks=False)),
        ("chmod", (one,), lambda p: os.chmod(p, mode)),
        ("truncate", (one,), lambda p: os.truncate(p, offset)),
    ))


def result(directory, paths, function):
    try:
        function(*(os.path.join(directory, path) for path in paths))
        return "success"
    except OSError as failure:
        return errno.errorcode[failure.errno]


def entry(path):
    info = os.lstat(path)
    kind = stat.S_IFMT(info.st_mode)
    if kind == stat.S_IFLNK:
        return kind, os.readlink(path)
    if kind == stat.S_IFREG:
        with open(path, "rb") as file:
            return info.st_mode, info.st_size, file.read()
    return (info.st_mode,)


def tree(directory):
    return {os.path.relpath(os.path.join(where, name), directory): entry(os.path.join(where, name))
            for where, directories, files in os.walk(directory) for name in directories + files}


def compare(directories, when):
    first = tree(directories[0])
    for other in directories[1:]:
        second = tree(other)
        for path in sorted(set(first) | set(second)):
            if first.get(path) != second.get(path):
                sys.exit(f"{when}: {path} is {first.get(path)} in {directories[0]}, "
                         f"and {second.get(path)} in {other}")


def main():
    may_refuse = "--may-refuse" in sys.argv
    no_links, only_links = "--no-links" in sys.argv, "--only-links" in sys.argv
    seed, number, *directories = [word for word in sys.argv[1:] if not word.startswith("--")]
    chance = random.Random(int(seed))
    for i in range(int(number)):
        name, paths, function = operation(chance)
        if (no_links and name == "link") or (only_links and name != "link"):
            continue
        results = [result(directory, paths, function) for directory in directories]
        when = f"seed {seed}, operation {i}: {name} {' '.join(paths)}"
        if may_refuse and results[0] == "EXDEV":
            if results[1] == "success" and name == "exchange":
                for directory in directories[1:]:
                    exchange(*(os.path.join(directory, path) for path in paths))
            elif results[1] == "success":
                subprocess.check_call(["mv", "-T"] + [f"{directories[0]}/{path}" for path in paths])
        elif len(set(results)) > 1:
            sys.exit(f"{when}: {dict(zip(directories, results))}")
        if i % 50 == 49:
            compare(directories, when)
    compare(directories, f"seed {seed}, at the end")


main()
