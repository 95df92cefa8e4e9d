# SPDX-License-Identifier: LGPL-2.1-or-later
"""The kernel's switch for FUSE over io_uring, which is the whole machine's.

It is on while tests run; tests/namespace shows it as off to tests that take /dev/fuse. Several runs
of tests share a lock on a file, which says that it was off before: the last one turns it off."""

import contextlib
import fcntl
import os

SWITCH = "/sys/module/fuse/parameters/enable_uring"
LOCK = "/run/windlass-tests-io-uring"


def _read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _turn_off(lock):
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # by another run, later
    if _read(LOCK) == "off":
        _write(SWITCH, "N")
        _write(LOCK, "")


@contextlib.contextmanager
def turned_on():
    """Turns it on, and off at the end if it was off. Does nothing where there is no switch, or
    without the right to write it."""
    if os.geteuid() != 0 or not os.path.exists(SWITCH):
        yield
        return
    with open(LOCK, "a", encoding="ascii") as lock:  # not inherited
        fcntl.flock(lock, fcntl.LOCK_SH)
        if _read(SWITCH) in ("N", "0"):
            _write(LOCK, "off")
            _write(SWITCH, "Y")
        try:
            yield
        finally:
            _turn_off(lock)
