#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Troubles below a cache on a mount whose directory is on a small disk, with debug/fault right
above storage.

in-trouble.py WINDLASS MOUNT BACK. `model` has what must be there. A caller may get the error of the
present trouble, or the right answer; anything else is wrong."""

import errno
import os
import subprocess
import sys
import time

windlass, mount, back = sys.argv[1:]
model, marks = {}, {}  # contents, and values of user.x, by name


def at(name, top=mount):
    return os.path.join(top, name)


def rule(text):
    subprocess.run([windlass, "fault", mount, "-"], input=text + "\n", text=True, check=True,
                   stdout=subprocess.DEVNULL)


def clear():
    subprocess.run([windlass, "fault", mount, "--clear"], check=True, stdout=subprocess.DEVNULL)


def said(act, *arguments):
    """What an act answers, or the errno's name."""
    try:
        return act(*arguments)
    except OSError as e:
        return errno.errorcode[e.errno]


def read(name, top=mount):
    with open(at(name, top), "rb", buffering=0) as file:
        parts = []
        while part := file.read(50000):
            parts.append(part)
    return b"".join(parts)


def append(name, data):
    fd = os.open(at(name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        return os.write(fd, data)
    finally:
        os.close(fd)


def mark(name):
    marks[name] = b"of " + name.encode()
    os.setxattr(at(name), "user.x", marks[name])


def make(name, data):
    with open(at(name), "xb", buffering=0) as file:
        assert file.write(data) == len(data)
    model[name] = data
    mark(name)


def names(folder):
    return sorted(name[len(folder):] for name in model if name.startswith(folder)
                  and "/" not in name[len(folder):])


def listed(folder):
    """Names and sizes, of those that are still there when they are looked at."""
    with os.scandir(at(folder)) as entries:
        return sorted((entry.name, entry.stat().st_size) for entry in entries if entry.is_file())


def looks():
    """Every question that there is an answer to, and that answer."""
    for name, data in model.items():
        yield f"read {name}", (lambda name=name: read(name)), data
        yield f"stat {name}", (lambda name=name: os.stat(at(name)).st_size), len(data)
        yield f"xattr of {name}", (lambda name=name: os.getxattr(at(name), "user.x")), marks[name]
    for folder in ("", "new/"):
        sizes = [(name, len(model[folder + name])) for name in names(folder)]
        yield f"list '{folder}'", (lambda folder=folder: listed(folder)), sizes
    yield "missing", (lambda: os.stat(at("missing")).st_size), "ENOENT"
    yield "missing in a folder", (lambda: os.stat(at("new/missing")).st_size), "ENOENT"


def check(when, *errors):
    """All of it is right, or one of these errors; how many are."""
    failed = 0
    for what, act, wanted in looks():
        got = said(act)
        if got in errors:
            failed += 1
        elif got != wanted:
            sys.exit(f"{when}: {what}: {str(got)[:200]}, not "
                     f"{str(wanted)[:200]}{' or ' if errors else ''}{' or '.join(errors)}")
    return failed


def check_back(when):
    for name, data in model.items():
        if read(name, back) != data:
            sys.exit(f"{when}: what is in the directory's '{name}' is something else")


def undo(act, name):
    while said(act, at(name)) == "EIO":
        pass


def changes():
    """Each, and what becomes of the model when it was done, or what takes it back."""
    yield ("append", (lambda: append("small", b"x")),
           (lambda: model.update(small=model["small"] + b"x")))
    yield ("truncate", (lambda: os.truncate(at("small"), 4)),
           (lambda: model.update(small=model["small"][:4])))
    yield "make", (lambda: os.mknod(at("node"), 0o644)), (lambda: undo(os.unlink, "node"))
    yield "make a folder", (lambda: os.mkdir(at("folder"))), (lambda: undo(os.rmdir, "folder"))
    yield "remove", (lambda: os.unlink(at("new/1"))), (lambda: model.pop("new/1"))
    yield ("rename", (lambda: os.rename(at("new/2"), at("new/one"))),
           (lambda: [them.update({"new/one": them.pop("new/2")}) for them in (model, marks)]))
    yield "link", (lambda: os.link(at("new/3"), at("linked"))), (lambda: undo(os.unlink, "linked"))
    yield "mode", (lambda: os.chmod(at("small"), 0o600)), (lambda: None)


def check_changes(when, error):
    """Storage refuses all; so nothing is changed, and each caller gets the error."""
    for what, act, _ in changes():
        got = said(act)
        if got != error:
            sys.exit(f"{when}: {what}: {got}, not {error}")


def fill():
    make("kept", os.urandom(300000))
    make("small", b"some text")
    os.mkdir(at("new"))
    for i in range(1, 30):
        make(f"new/{i}", b"%d" % i * i)
    for _ in range(3):
        check("at first")


def full_disk():
    fd = os.open(at("big"), os.O_RDWR | os.O_CREAT, 0o644)
    there, got = b"", 0
    while isinstance(got, int):
        part = os.urandom(65536)
        got = said(os.write, fd, part)
        there += part[:got] if isinstance(got, int) else b""
    if got != "ENOSPC":
        sys.exit(f"a full disk says {got}")
    model["big"] = there
    mark("big")
    for _ in range(2):
        check("a full disk")
    got = said(append, "kept", bytes(65536))
    if got != "ENOSPC":
        model["kept"] += bytes(got)
    check("more to a full disk")
    if os.pread(fd, len(there) + 1, 0) != there:
        sys.exit("what was confirmed before the disk was full isn't there")
    os.close(fd)
    check_back("a full disk")
    os.unlink(at("big"))
    del model["big"]
    assert append("small", b" and more") == 9
    model["small"] += b" and more"
    check("with room again")


def refused():
    """Errors, of some operations and then of all."""
    for operations in ("readv", "lookup,stat,fstat,open", "opendir,readdir,readdirp",
                       "getxattr,fgetxattr", "flush,fsync,fsyncdir"):
        rule(f"{operations} -> error EIO")
        for _ in range(2):
            check(f"{operations} fails", "EIO")
        clear()
        check(f"{operations} failed")
    rule("write-ops -> error EIO")
    check_changes("changes fail", "EIO")
    check("changes fail", "EIO")
    clear()
    check("changes failed")
    check_back("changes failed")
    rule("write-ops every 2 -> error EIO")
    for what, act, then in changes():
        if said(act) != "EIO":
            then()
        check(f"after {what}, which may have failed")
    clear()
    check("some changes failed")
    check_back("some changes failed")


def gone():
    """Every call is answered with the error of a daemon that is gone."""
    rule("* -> error ENOTCONN")
    check_changes("storage is gone", "ENOTCONN")
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        failed = check("storage is gone", "ENOTCONN")
    if not failed:
        sys.exit("storage is gone for longer than anything may be remembered, and nobody is told")
    clear()
    check("storage is back")
    check_back("storage is back")


def behind():
    """A name that vanishes behind the mount is noticed when the cache entry gets old; open files
    can be read on."""
    fd = os.open(at("new/5"), os.O_RDONLY)
    for name in ("kept", "new/5"):
        os.unlink(at(name, back))
    data = model.pop("new/5")
    del model["kept"]
    end = time.monotonic() + 20
    while (said(read, "kept"), said(read, "new/5")) != ("ENOENT", "ENOENT"):
        assert time.monotonic() < end, "what is gone is still there"
    while listed("new/") != [(name, len(model["new/" + name])) for name in names("new/")]:
        assert time.monotonic() < end, "what is gone is still listed"
    if said(os.pread, fd, 100, 0) not in (data, "ENOENT", "ESTALE"):
        sys.exit("an open file that lost its name says something else")
    os.close(fd)
    check("something has vanished")
    make("kept", os.urandom(200000))
    check("something is made where something has vanished")


fill()
full_disk()
refused()
gone()
behind()
