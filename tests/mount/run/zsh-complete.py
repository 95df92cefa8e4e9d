#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""zsh-complete.py FOLDER LINE...: types each LINE and a tab into a zsh that has the completions of
FOLDER, at a terminal of its own, and prints the words that zsh offers, one a line, with the number
of the LINE before each. They come through a pipe, so that nothing has to be read from a screen."""

import os
import pty
import select
import sys
import tempfile
import time

SETUP = r"""
fpath=({folder} $fpath)
autoload -Uz compinit && compinit -u -D
compadd () {{
    local -a found
    builtin compadd -O found "$@"
    print -rl -- ${{found/#/FOUND:$IPREFIX}} >{out}
    builtin compadd "$@"
}}
show () {{ zle complete-word; print -r END >{out}; zle kill-buffer }}
zle -N show
bindkey '^T' show
print -r END >{out}
"""


class Shell:
    """A zsh at a terminal."""

    def __init__(self, folder, here):
        self.out = os.path.join(here, "out")
        os.mkfifo(self.out)
        with open(os.path.join(here, "setup"), "w", encoding="utf-8") as file:
            file.write(SETUP.format(folder=folder, out=self.out))
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.pipe = os.open(self.out, os.O_RDWR | os.O_NONBLOCK)
        self.type(f"source {os.path.join(here, 'setup')}\n")

    def type(self, text):
        """Returns what comes through the pipe up to END."""
        said, screen, end = b"", b"", time.monotonic() + 60
        os.write(self.terminal, text.encode())
        while b"END\n" not in said:
            ready, _, _ = select.select([self.terminal, self.pipe], [], [], 1)
            if self.terminal in ready:
                screen += os.read(self.terminal, 65536)
            if self.pipe in ready:
                said += os.read(self.pipe, 65536)
            if time.monotonic() > end:
                sys.exit(f"zsh does not answer to {text!r}: {screen.decode(errors='replace')}")
        return said.decode().split("\n")


def main():
    folder, *lines = sys.argv[1:]
    with tempfile.TemporaryDirectory() as here:
        shell = Shell(folder, here)
        for number, line in enumerate(lines):
            words = {word[6:] for word in shell.type(line + "\x14") if word.startswith("FOUND:")}
            for word in sorted(words):
                print(number, word)
        os.kill(shell.pid, 9)
        os.waitpid(shell.pid, 0)


main()
