# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of figures, in Markdown: doc/figures.md is one."""

import contextlib

import aims
import memory
import report

HEAD = """# Figures

<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->
<!-- tests/bench/run --out DIR writes this page -->

`make bench` (`tests/bench/run`) compares Windlass with the bare directory and, where they are
installed, with bindfs, GlusterFS, and libfuse's passthrough_hp (hp) and passthrough_ll (ll). It
writes this page, tables and pictures to bench-out; HACKING explains how to read them.

- "One CPU" means that daemon and client share one CPU. A request then wakes no other CPU, so these
  figures compare the code.
- windlass is storage/posix alone, windlass+rot13 has rot-13 on it, windlass+stack is
  volfiles/client-stack.vol; -wb: with the kernel's writeback cache. bindfs-mt runs with the options
  that Windlass has: several threads, large writes. hp-nopass is hp without kernel passthrough.
- windlass+overlay and fuse-overlayfs show a view of the directory, whose changes go to another one.
  "below": files that were there before the mount.
- windlass+brick and glusterfs+brick are clients of a brick of GlusterFS on the same machine, with
  protocol/client alone; +volume has above it what glusterd puts there; +distribute has four bricks
  with different files, +replicate three with the same ones. -0: the kernel asks again for each name
  and attribute. The bricks take half of the time or more, and are the same for both.
- bindfs looks up a file with one system call, lstat. Windlass opens the file and requests its
  attributes and its file handle. So a rename in between cannot confuse two files, and Windlass
  needs no path later.
- The kernel asks for the attributes of a directory before the next change in it, of Windlass and of
  hp: it checks the caller's rights. `no_default_permissions` spares that request (windlass-as-hp).
- Windlass answers EOPNOTSUPP for a missing security label where the kernel runs no SELinux, so that
  `ls -l` asks for the ACL of each file alone. hp passes both requests on. GlusterFS's client
  without `-o acl` answers EOPNOTSUPP for an ACL, and `ls -l` asks it for no second one; it answers
  ENODATA for security labels without asking the brick.
- hp lets the kernel keep names, missing names and listings for a day. In dbench it gets a sixth of
  the lookups and listings that Windlass gets by its default of a second. `--exclusive` is the same
  promise.
- Where hp gets direct reads, it reads into the memory that it answers with. Windlass reads into a
  buffer that translators may keep, and copies it.
- Names, `untar` and `rm` cost as many requests as with hp, and the kernel decides about them.
"""


@contextlib.contextmanager
def block():
    print("```")
    yield
    print("```")


def print_page(figures):
    print(HEAD)
    with block():
        report.print_machines(figures["machines"])
    for title, rows in figures["compared"].items():
        print(f"\n## {title}\n")
        with block():
            report.print_rates(title, rows, figures["peers"])
    print("\n## The rest\n")
    with block():
        if figures["resident"]:
            report.print_resident(figures["resident"])
        for chart, curve in figures["curves"].items():
            report.print_curve(chart, curve)
        if figures["edge"]:
            report.print_edge(figures["edge"])
        if figures["memory"]:
            memory.print_rows(figures["memory"])
        aims.print_aims(figures["compared"], figures["curves"], figures["memory"])


def write(figures, path):
    with open(path, "w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
        print_page(figures)
