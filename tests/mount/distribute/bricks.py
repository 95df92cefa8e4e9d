#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the bricks of a volume of cluster/distribute: distribute-bricks.py BRICK...

The brick X.d is the subvolume c-X. Every directory is on all bricks, with one gfid and one mode, and
its ranges cover all hashes once. Every linkto names a brick that has a file of its name and gfid,
and no name has two files. Prints what is wrong, and exits with 1."""

import os
import stat
import struct
import sys

LAYOUT = "trusted.glusterfs.dht"
LINKTO = "trusted.glusterfs.dht.linkto"
problems = []


def xattr(path, name):
    try:
        return os.getxattr(path, name, follow_symlinks=False)
    except OSError:
        return None


def gfid(path):
    return xattr(path, "trusted.gfid")


def linkto(path):
    """The brick that a linkto names, or None."""
    about = os.lstat(path)
    if not stat.S_ISREG(about.st_mode) or stat.S_IMODE(about.st_mode) != 0o1000:
        return None
    name = xattr(path, LINKTO)
    return name and name.rstrip(b"\0").decode().removeprefix("c-") + ".d"


def check_ranges(path, copies):
    ranges = []
    for copy in copies:
        value = xattr(copy, LAYOUT)
        if not value or len(value) != 16:
            problems.append(f"{copy} has no range")
            return
        ranges.append(struct.unpack(">IIII", value)[2:])
    expected = 0
    for start, stop in sorted(pair for pair in ranges if pair != (0, 0)):
        if start != expected:
            problems.append(f"{path}: a range begins at {start:#x}, not {expected:#x}")
        expected = stop + 1
    if expected != 1 << 32:
        problems.append(f"{path}: the ranges end at {expected:#x}")


def check_directory(path, bricks):
    copies = [os.path.join(brick, path) for brick in bricks]
    missing = [copy for copy in copies if not os.path.isdir(copy)]
    if missing:
        problems.append(f"directory {path} is missing: {missing}")
        return
    if len({gfid(copy) for copy in copies}) != 1:
        problems.append(f"directory {path} has several gfids")
    if len({os.stat(copy).st_mode for copy in copies}) != 1:
        problems.append(f"directory {path} has several modes")
    check_ranges(path, copies)


def check_name(path, bricks):
    copies = [os.path.join(brick, path) for brick in bricks]
    copies = [copy for copy in copies if os.path.lexists(copy)]
    files = [copy for copy in copies if linkto(copy) is None]
    if len(files) != 1:
        problems.append(f"{path} has {len(files)} files: {copies}")
        return
    for copy in copies:
        target = linkto(copy)
        if target and os.path.join(target, path) != files[0]:
            problems.append(f"the linkto {copy} names {target}; the file is {files[0]}")
        if gfid(copy) != gfid(files[0]):
            problems.append(f"{copy} and {files[0]} have different gfids")


def main():
    bricks = sys.argv[1:]
    directories, names = {"."}, set()
    for brick in bricks:
        for folder, folders, files in os.walk(brick):
            if folder == brick:
                folders.remove(".glusterfs")
            where = os.path.relpath(folder, brick)
            for name in folders + files:
                path = os.path.normpath(os.path.join(where, name))
                is_folder = name in folders and not os.path.islink(os.path.join(folder, name))
                (directories if is_folder else names).add(path)
    for path in sorted(directories):
        check_directory(path, bricks)
    for path in sorted(names):
        check_name(path, bricks)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
