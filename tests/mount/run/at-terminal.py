#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""at-terminal.py QUESTION ANSWER COMMAND...: runs the COMMAND at a terminal of its own, waits until
it has asked the QUESTION, types the ANSWER and a newline, prints all that was on the screen, and
ends with the status of the COMMAND."""

import os
import pty
import signal
import sys


def main():
    question, answer = sys.argv[1:3]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[3], sys.argv[3:])
    screen = ""
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"no {question!r}: {screen!r}"))
    signal.alarm(100)  # only ends a test that hangs
    typed = False
    while True:
        try:
            screen += os.read(terminal, 4096).decode(errors="replace")
        except OSError:  # the terminal's other end is closed
            break
        if question in screen and not typed:
            typed = True
            os.write(terminal, (answer + "\n").encode())
    print(screen.replace("\r", ""))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if typed else "not asked")


main()
