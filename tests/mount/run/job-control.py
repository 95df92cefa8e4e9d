#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""job-control.py COMMAND...: types the COMMAND, which says `begun`, into an interactive bash at a
terminal of its own; then Ctrl-Z, `fg`, and a line for the command, which says `continued` and then
`got LINE`, and ends with status 4. Prints how its processes are while it is stopped."""

import os
import pty
import shlex
import signal
import sys


class Shell:
    """A bash at a terminal."""

    def __init__(self):
        self.screen = self.wanted = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])

    def type(self, text, answer):
        """Waits until the answer is on the screen. The terminal shows the text as well."""
        self.wanted = answer
        os.write(self.terminal, text.encode())
        while answer not in self.screen:
            self.screen += os.read(self.terminal, 4096).decode(errors="replace")
        self.screen = self.screen.split(answer, 1)[1]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def state(pid):
    """What it is called, and whether it is stopped."""
    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
        words = file.read().split("\0")
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        stopped = file.read().rsplit(")", 1)[1].split()[0] == "T"
    name = "daemon" if any(word.startswith("--captive=") for word in words) else words[0]
    return f"{os.path.basename(name)}: {'stopped' if stopped else 'runs'}"


def main():
    shell = Shell()
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"no {shell.wanted!r}: {shell.screen!r}"))
    signal.alarm(100)  # only ends a test that hangs
    shell.type(shlex.join(sys.argv[1:]) + "\n", "begun")
    shell.type("\x1a", "Stopped")
    for job in children(shell.pid):
        print(*sorted(map(state, [job, *children(job)])), sep="\n")
    shell.type("fg\n", "continued")
    shell.type("hello\n", "got hello")
    shell.type('exec echo "status" $?\n', "status 4")


main()
