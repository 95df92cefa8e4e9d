# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Replays a section of a document: types the commands of the text, and expects each line of its
output, in that order.

    replay.py FILE SECTION FROM=TO...     TO replaces FROM, such as /tmp/import, in the text

A block ```sh is a terminal: "$ " begins a command, "> " goes on with it. A command that starts gdb
is continued by the ```gdb blocks, whose commands begin with "(gdb) ". Other lines are output. A
block of gdb that ends while the program runs is followed by one of another terminal, whose commands
make it stop; gdb's output then stands at the beginning of its next block. A command of a terminal
begins when the one before it has ended, as in a shell.

"```sh TOOL" is left out where REPLAY_WITHOUT=TOOL says so. In output "..." is anything. Addresses,
line numbers in C files, numbers of threads, requests, processes and values, and ages may differ
from the text; so may times of the function graph, the number before a unit of time, and a sum in
microseconds, from 200 ms on. No command may ask back, and gdb's numbers for itself, as in
"Breakpoint -46", are not for readers.
"""

import os
import queue
import re
import subprocess
import sys
import threading
import time

PATIENCE = 60
PROMPT = "(gdb) "
VARYING = (r"0x[0-9a-f]+", r"\.c:\d+", r"[Tt]hread \d+", r'"fuse-(?:ring-)?\d+"', r"requests? \d+",
           r"pid \d+", r"process \d+", r"\$\d+", r"LWP \d+",
           r"[\d.]+ (?:s old|us|ms)\b", r"^\d+\t", r"^\d+ {4,}", r"req=\d+",
           r"ino \d+", r"nodeid \d+", r"^ +\d+\.\d{3} \|",
           r"\]: (?:[2-9]\d{5}|\d{7,})$")
RUNS = re.compile(r"(run|r|continue|c|xl wind|xl unwind)$")


def fail(text):
    sys.exit("FAILED: " + text)


def blocks(path, section):
    """(kind, lines) of the blocks below the heading "## (SECTION) ..."."""
    inside = kind = None
    for line in open(path):
        line = line.rstrip("\n")
        if line.startswith("## "):
            inside = line.startswith("## (%s)" % section)
        elif line.startswith("```"):
            if kind is None:
                kind, lines = line[3:].strip() or "text", []
            else:
                if inside:
                    yield kind, lines
                kind = None
        elif kind is not None:
            lines.append(line)


def commands(lines, mark):
    """[command or None for what comes first, expected lines]."""
    found = [[None, []]]
    for line in lines:
        if line.startswith(mark):
            found.append([line[len(mark):], []])
        elif mark == "$ " and line.startswith("> "):
            found[-1][0] += "\n" + line[2:]
        elif line.strip():
            found[-1][1].append(line)
    return found


def pattern_of(line):
    varying = re.compile("(" + "|".join(VARYING) + r"|\.\.\.)")
    out = ""
    for piece in varying.split(line):
        kind = next((one for one in VARYING if re.fullmatch(one, piece)), None) if piece else None
        out += (".*" if piece == "..." else "(?:%s)" % kind.replace("^", "")
                if kind else re.escape(piece))
    return re.compile(out.rstrip() + r"\s*$")


def expect(what, expected, output):
    lines, at = output.splitlines(), 0
    for line in (line for line in expected if line != "..."):
        pattern = pattern_of(line)
        while at < len(lines) and not pattern.match(lines[at]):
            at += 1
        if at == len(lines):
            fail("%s: expected\n    %s\n(as %s)\nin\n%s" % (what, line, pattern.pattern, output))
        at += 1


class Gdb:
    """A session: output comes until the next prompt."""

    def __init__(self, command):
        self.process = subprocess.Popen(["bash", "-c", command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.read, self.waits = queue.Queue(), True
        threading.Thread(target=self.pump, daemon=True).start()
        self.output()

    def pump(self):
        while True:
            piece = os.read(self.process.stdout.fileno(), 65536)
            self.read.put(piece)
            if not piece:
                return

    def send(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        self.waits = True

    def output(self):
        """Until the prompt. Log lines of the program come to the same terminal."""
        out, end = "", time.monotonic() + PATIENCE
        while not out.endswith(PROMPT):
            try:
                piece = self.read.get(timeout=max(end - time.monotonic(), 0.01))
            except queue.Empty:
                fail("gdb came to no end with\n" + out)
            if not piece:
                break
            out += piece.decode(errors="replace")
        self.waits = False
        out = out[:-len(PROMPT)] if out.endswith(PROMPT) else out
        return "\n".join(line for line in out.split("\n")
                         if not re.match(r"\[\d{4}-\d\d-\d\d ", line))


class Terminal:
    """A command of the other terminal, which may have to wait until gdb goes on."""

    def __init__(self, command, expected):
        self.command, self.expected = command, expected
        self.process = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def finish(self):
        try:
            out = self.process.communicate(timeout=PATIENCE)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            fail("this came to no end: " + self.command)
        if os.environ.get("REPLAY_VERBOSE"):
            print("$ %s\n%s" % (self.command, out), flush=True)
        if self.command.startswith("umount ") and self.process.returncode != 0:
            fail("%s: %s" % (self.command, out))
        expect("$ " + self.command, self.expected, out)


class Replay:
    def __init__(self, substitutions):
        self.substitutions, self.gdb, self.running = substitutions, None, None

    def here(self, text):
        for word, meaning in self.substitutions:
            text = text.replace(word, meaning)
        return text

    def mounted(self):
        mountpoint = self.here("/tmp/import")
        end = time.monotonic() + PATIENCE
        while not any(line.split()[4] == mountpoint for line in open("/proc/self/mountinfo")):
            if time.monotonic() > end:
                fail("nothing was mounted on " + mountpoint)
            time.sleep(0.05)

    def sh(self, lines):
        """Only the last command of a block may wait for gdb, and goes on while gdb's next block is
        typed."""
        for command, expected in commands(lines, "$ ")[1:]:
            self.finish_command()
            command, expected = self.here(command), [self.here(line) for line in expected]
            if re.match(r"(RUN=gdb|gdb) ", command):
                # Which an optimised build has.
                gdb = 'gdb -nx -q -iex "set width 0" -iex "set print entry-values no"'
                self.gdb = Gdb(re.sub("^RUN=gdb", "RUN='%s'" % gdb, command)
                               if command.startswith("RUN") else
                               re.sub("^gdb", gdb, command))
                continue
            if self.gdb and self.gdb.waits:
                self.mounted()
            self.running = Terminal(command, expected)
        if not (self.gdb and self.gdb.waits):
            self.finish_command()

    def session(self, lines):
        found = commands(lines, PROMPT)
        for i, (command, expected) in enumerate(found):
            if command is not None:
                self.gdb.send(self.here(command))
            if command is None and not (self.gdb.waits and expected):
                continue
            if command is not None and RUNS.match(command) and not expected and i == len(found) - 1:
                return
            out = self.gdb.output()
            if os.environ.get("REPLAY_VERBOSE"):
                print("(gdb) %s\n%s" % (command, out), flush=True)
            asks = re.search(r"\(y or n\)|\bbreakpoint -\d+", out, re.I)
            if asks:
                fail("(gdb) %s: '%s' is shown to whoever types this:\n%s" % (command, asks[0], out))
            expect("(gdb) %s" % command, [self.here(line) for line in expected], out)

    def finish_command(self):
        if self.running:
            self.running.finish()
            self.running = None

    def finish(self):
        self.finish_command()
        if self.gdb:
            self.gdb.process.stdin.close()
            self.gdb.process.wait(PATIENCE)


def main():
    replay = Replay([one.split("=", 1) for one in sys.argv[3:]])
    count = 0
    for kind, lines in blocks(sys.argv[1], sys.argv[2]):
        needs = kind.split()[1:]
        if kind.split()[0] in ("sh", "gdb") and not any(os.environ.get("REPLAY_WITHOUT") == need
                                                        for need in needs):
            count += 1
            (replay.sh if kind.split()[0] == "sh" else replay.session)(lines)
    replay.finish()
    if count == 0:
        fail("the text has no section (%s)" % sys.argv[2])


if __name__ == "__main__":
    main()
