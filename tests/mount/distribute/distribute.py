#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random operations on several mounts of one volume, by turns, and on a bare directory.

  distribute.py SEED COUNT BARE BRICK,BRICK... MOUNT...

Each operation is done on one of the mounts, drawn by the seed, and on BARE; both must have the same
result: the errno, or what was read. At the end all trees must be the same, seen from each mount.
Prints what differed, with the number of the operation, and exits with 1."""

import errno
import os
import random
import stat
import sys
import uuid

NAMES = [f"n{i}" for i in range(10)] + ["naïve", ".n1.AbC123"]
FOLDERS = ["", "d0", "d1", "d0/e0"]


def result_of(action):
    """What an operation gives: a value, or the name of its errno."""
    try:
        return action()
    except OSError as problem:
        return errno.errorcode[problem.errno]


def same(wanted, found):
    alike = ["EEXIST", "ENOTEMPTY"]
    return wanted == found or (wanted in alike and found in alike)


def rename_after_looking(old, new):
    """The kernel can't move a directory that another client has renamed to its new place while it
    renames: it says ESTALE. Afterwards all is in its place."""
    try:
        os.rename(old, new)
    except OSError as problem:
        if problem.errno != errno.ESTALE:
            raise
        os.path.lexists(old)
        os.path.lexists(new)
        os.rename(old, new)


def marks(path):
    """The names that a brick believes a file of its own to have: DIRECTORY-GFID/NAME."""
    return [os.getxattr(path, name, follow_symlinks=False).decode()
            for name in os.listxattr(path, follow_symlinks=False)
            if name.startswith("trusted.gfid2path.")]


class Operations:
    """Operations by name; each is drawn once and then done on two roots."""

    def __init__(self, draw, bricks):
        self.draw, self.bricks = draw, bricks

    def is_refused(self, old, new):
        """A brick keeps the mark of a name that a file with several names lost when another file
        was renamed to it, and that any symbolic link lost. It then refuses to link the file to that
        name again: EEXIST, also for a stock client alone on the volume, whose renames make such
        links."""
        for brick in self.bricks:
            try:
                gfid = os.getxattr(os.path.join(brick, os.path.dirname(new)), "trusted.gfid").hex()
                known = marks(os.path.join(brick, old))
            except OSError:
                continue
            mark = f"{uuid.UUID(gfid)}/{os.path.basename(new)}"
            if mark in known and not os.path.lexists(os.path.join(brick, new)):
                return True
        return False

    def path(self):
        return os.path.join(self.draw.choice(FOLDERS), self.draw.choice(NAMES + ["e0"]))

    def create(self):
        path, flags = self.path(), self.draw.choice([0, os.O_EXCL, os.O_TRUNC])

        def create(root):
            os.close(os.open(os.path.join(root, path), os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK | flags, 0o640))
        return f"create {path} {flags:#x}", create

    def append(self):
        path, text = self.path(), f"{self.draw.random()}\n".encode()

        def append(root):
            fd = os.open(os.path.join(root, path), os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
            try:
                return os.write(fd, text)
            finally:
                os.close(fd)
        return f"append {path}", append

    def read(self):
        path = self.path()

        def read(root):
            fd = os.open(os.path.join(root, path), os.O_RDONLY | os.O_NONBLOCK)
            with open(fd, "rb") as file:
                return file.read()
        return f"read {path}", read

    def mkdir(self):
        path = self.draw.choice([self.path()] + FOLDERS[1:])
        return f"mkdir {path}", lambda root: os.mkdir(os.path.join(root, path), 0o755)

    def rmdir(self):
        path = self.draw.choice([self.path()] + FOLDERS[1:])
        return f"rmdir {path}", lambda root: os.rmdir(os.path.join(root, path))

    def unlink(self):
        path = self.path()
        return f"unlink {path}", lambda root: os.unlink(os.path.join(root, path))

    def link(self):
        old, new = self.path(), self.path()
        refused = self.is_refused(old, new)

        def link(root):
            return refused or os.link(os.path.join(root, old), os.path.join(root, new))
        return f"link {old} {new}", link

    def symlink(self):
        path, target = self.path(), self.draw.choice(NAMES)
        return f"symlink {path}", lambda root: os.symlink(target, os.path.join(root, path))

    def mkfifo(self):
        path = self.path()
        return f"mkfifo {path}", lambda root: os.mkfifo(os.path.join(root, path))

    def rename(self):
        old, new = self.path(), self.path()
        if self.draw.random() < 0.1:
            old, new = self.draw.sample(FOLDERS[1:], 2)
        refused = self.is_refused(old, new)

        def rename(root):
            return refused or rename_after_looking(os.path.join(root, old),
                                                   os.path.join(root, new))
        return f"rename {old} {new}", rename

    def chmod(self):
        path, mode = self.path(), self.draw.choice([0o600, 0o644, 0o751, 0o700])
        return f"chmod {path} {mode:o}", lambda root: os.chmod(os.path.join(root, path), mode)

    def setxattr(self):
        path, value = self.path(), str(self.draw.random()).encode()
        return f"setxattr {path}", lambda root: os.setxattr(
            os.path.join(root, path), "user.test", value, follow_symlinks=False)

    def list(self):
        path = self.draw.choice(FOLDERS)
        return f"list {path}", lambda root: sorted(os.listdir(os.path.join(root, path)))

    KINDS = [create] * 5 + [append] * 3 + [read] * 3 + [mkdir, mkdir, rmdir, unlink, unlink, link,
                                                        link, symlink, mkfifo, chmod, setxattr,
                                                        list, list] + [rename] * 8

    def next(self):
        return self.draw.choice(self.KINDS)(self)


def describe(root, path):
    """One line of a tree: everything that must be the same."""
    whole = os.path.join(root, path)
    about = os.lstat(whole)
    line = [path, stat.filemode(about.st_mode), about.st_uid, about.st_gid]
    if stat.S_ISREG(about.st_mode):
        with open(whole, "rb") as file:
            line += [about.st_nlink, about.st_size, file.read()]
    if stat.S_ISLNK(about.st_mode):
        line.append(os.readlink(whole))
    if not stat.S_ISLNK(about.st_mode) and not stat.S_ISFIFO(about.st_mode):
        line += [(name, os.getxattr(whole, name)) for name in sorted(os.listxattr(whole))
                 if name.startswith("user.")]
    return repr(line)


def tree(root):
    lines = []
    for folder, folders, files in os.walk(root):
        lines += [describe(root, os.path.relpath(os.path.join(folder, name), root))
                  for name in folders + files]
    return sorted(lines)


def differing(bare, mounts):
    wanted = tree(bare)
    for mount in mounts:
        found = tree(mount)
        for line in sorted(set(wanted) ^ set(found)):
            yield f"{'bare' if line in wanted else mount} alone has {line}"


def main():
    seed, count, bare = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    bricks, mounts = sys.argv[4].split(","), sys.argv[5:]
    draw = random.Random(seed)
    operations = Operations(draw, bricks)
    history, status = [], 0
    for number in range(count):
        what, action = operations.next()
        mount = draw.choice(mounts)
        wanted = result_of(lambda: action(bare))
        found = result_of(lambda: action(mount))
        history.append(f"{number} {mount}: {what} -> {wanted}")
        if not same(wanted, found):
            print("\n".join(history[-12:]))
            print(f"seed {seed}, operation {number} on {mount}: {what}: bare {wanted}, got {found}")
            status = 1
            break
    for line in differing(bare, mounts):
        print(line)
        status = 1
    sys.exit(status)


main()
