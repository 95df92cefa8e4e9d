# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Runs the examples of manual pages and documents, and the commands of README, as their reader does.

    examples.py SOURCE_DIR DIR [PAGE]...    DIR is an empty folder, for what the texts have in /tmp

An example of a page is a literal block in its section EXAMPLES. It has to succeed, and is run by an
ordinary user. Examples of one page follow each other. One that mounts finds nothing mounted; one
that asks a mount without making one finds that of windlass(1). A block that is a volfile is
checked. A comment in the page's source, on the line before the block, tells what differs:

    .\\" example: prints REGEX      a line of what it prints matches; may be given more than once
    .\\" example: fails             a command of it fails, as the text says; prints must tell how
    .\\" example: as root           it needs root
    .\\" example: file NAME         the reader writes it to a file
    .\\" example: needs PROGRAM     not run where there is none
    .\\" example: needs a volume    not run without $EXAMPLES_VOLUME, which is server:/volume then
    .\\" example: not run: REASON   it needs a server, a terminal ...

A document (NAME.md) has the same marks, as <!-- example: ... -->. Its examples are the blocks that
begin with ```sh, and others that have a mark. A ```text block after one is lines that it prints,
with "..." for what differs; a number stands for any, and blanks are as they come. Documents whose sessions are replayed, as they
have prompts, are left out.

In README an example is an indented block with a command of ./windlass. Of a block that mounts
nothing, a line is left out if it has a word in capitals, which stands for the reader's own; and
everywhere one that needs a server or a terminal.
"""

import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import time

PATIENCE = 60
VOLUME = os.environ.get("EXAMPLES_VOLUME")
MOUNTS = re.compile(r"windlass\b[^|\n]*(?:\\\n[^|\n]*)* -f |windlass server:/volume /")
NOTE_FAILURE = "trap failed=1 ERR\n%s\nexit ${failed-0}\n"
STAYS = re.compile(r" --debug | -N ")  # in the foreground: Ctrl-C ends it
MARK = re.compile(r'(?:\.\\"|<!--) example: (prints|fails|as root|file|needs|not run:) ?(.*)')
ESCAPES = (("\\-", "-"), ("\\(aq", "'"), ("\\(ga", "`"), ("\\(ti", "~"), ("\\(dq", '"'),
           ("\\&", ""), ("\\e", "\\"))


class Example:
    def __init__(self, place, text, marks):
        self.place, self.text = place, text
        self.prints = [what for mark, what in marks if mark == "prints"]
        self.fails = ("fails", "") in marks
        self.file = next((what for mark, what in marks if mark == "file"), None)
        self.as_root = ("as root", "") in marks
        reasons = [what for mark, what in marks if mark == "not run:"]
        self.needs = [what for mark, what in marks if mark == "needs"]
        reasons += ["needs " + one for one in self.needs if not has(one)]
        self.reason = reasons[0] if reasons else None


def has(needed):
    return VOLUME if needed == "a volume" else shutil.which(needed)


class Wrong(Exception):
    """What is told of an example that isn't as its page says."""


def plain(line):
    line = re.sub(r"\\f[A-Z]", "", line)
    for roff, text in ESCAPES:
        line = line.replace(roff, text)
    return line


def examples_of_page(path):
    section, block, marks = "", None, []
    found, wanted = 0, False
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        mark = MARK.fullmatch(line)
        if mark:
            marks.append((mark[1], mark[2]))
        elif line.startswith('.\\" example:'):
            raise Wrong("%s:%d: not a mark of an example: %s" % (path, number, line))
        elif line.startswith(".SH "):
            section = line[4:].strip('"')
            wanted = wanted or section.startswith("EXAMPLE")
        elif line in (".nf", ".EX"):
            block = []
        elif line in (".fi", ".EE"):
            if section.startswith("EXAMPLE"):
                found += 1
                yield Example("%s:%d" % (os.path.basename(path), number - len(block)),
                              "\n".join(block) + "\n", marks)
            elif marks:
                raise Wrong("%s:%d: marks of a block that is not in EXAMPLES" % (path, number))
            block, marks = None, []
        elif block is not None:
            block.append(plain(line))
    if marks:
        raise Wrong("%s: marks that no example follows" % path)
    if wanted and not found:
        raise Wrong("%s: a section of examples without a block" % path)


# In an output that a document shows: what stands for itself, for any number, for anything.
NUMBER = r"\b\d[\d.]*(?:[num]?s|[kMG])?"
PART = re.compile(r"(?P<any>\.\.\.|[\u2588-\u258f]+)|(?P<blank>\s+)|(?P<number>%s\b)" % NUMBER)


def printed(line):
    """What matches a line that a document shows of an output."""
    def pattern(part):
        return ".*" if part["any"] else r"\s+" if part["blank"] else NUMBER

    text, at, regex = line.strip(), 0, ""
    for part in PART.finditer(text):
        regex += re.escape(text[at:part.start()]) + pattern(part)
        at = part.end()
    return r"^\s*%s\s*$" % (regex + re.escape(text[at:]))


def examples_of_document(path):
    """Each example is given once it is known whether an output follows it."""
    last = None
    for example in blocks_of_document(path):
        if isinstance(example, Example):
            if last:
                yield last
            last = example
        elif last:
            last.prints += map(printed, example)
    if last:
        yield last


def blocks_of_document(path):
    """Examples, and the lines of outputs."""
    block, marks, language = None, [], ""
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        if block is None and line.startswith("<!-- example:"):
            mark = MARK.fullmatch(line.removesuffix(" -->"))
            if not mark:
                raise Wrong("%s:%d: not a mark of an example: %s" % (path, number, line))
            marks.append((mark[1], mark[2]))
        elif block is None and line.startswith("```"):
            block, language = [], line[3:]
        elif line == "```":
            if language == "text":
                yield [one for one in block if one.strip(" .")]
            elif language == "sh" or marks:
                yield Example("%s:%d" % (os.path.basename(path), number - len(block)),
                              "\n".join(block) + "\n", marks)
            block, marks = None, []
        elif block is not None:
            block.append(line)
        elif marks and line:
            raise Wrong("%s:%d: marks that no example follows" % (path, number))


def commands_of_readme(lines):
    """A line of a table is a command, two blanks or more, and what it does."""
    lines = [line for line in lines if not re.search(r" server:| /mnt|windlass top ", line)]
    if MOUNTS.search("\n".join(lines)):
        return lines
    commands = [re.split(r" {2,}", line)[0] for line in lines if line.startswith("./windlass ")]
    return [line for line in commands if not re.search(r"\b[A-Z]{3,}\b", line)]


def examples_of_readme(path):
    block, begin = [], 0
    for number, line in enumerate(list(open(path)) + ["\n", ".\n"], 1):
        if line.startswith("    ") or (block and line == "\n"):
            begin = begin if block else number
            block += [line[4:].rstrip("\n")] if line != "\n" else []
            continue
        commands = commands_of_readme(block) if "\n./windlass " in "\n" + "\n".join(block) else []
        block = []
        if commands:
            yield Example("README:%d" % begin, "\n".join(commands) + "\n", [])


def examples_of(path):
    if os.path.basename(path) == "README":
        return examples_of_readme(path)
    return examples_of_document(path) if path.endswith(".md") else examples_of_page(path)


def is_tried(path):
    """Not the documents whose sessions are replayed, with what they print."""
    if not path.endswith(".md"):
        return False
    with open(path) as file:
        return not re.search(r"^```sh\n\$ ", file.read(), re.M)


class Reader:
    """Who tries the examples of one page."""

    def __init__(self, source, folder, name):
        self.source, self.top = source, os.path.join(folder, name)
        self.mountpoint = self.top + "/import"
        os.makedirs(self.top + "/bin")
        os.symlink(os.environ["WINDLASS"], self.top + "/bin/windlass")
        self.write_volfile()
        for one in ("/export", "/import", "/home"):
            os.makedirs(self.top + one)
        subprocess.check_call(["chown", "-R", "65534:65534", self.top])

    def write_volfile(self):
        with open(self.top + "/my.vol", "w") as out:
            out.write("volume my-posix\n type storage/posix\n option directory %s/export\n"
                      "end-volume\nvolume my-rot13\n type encryption/rot-13\n"
                      " subvolumes my-posix\nend-volume\n" % self.top)

    def command(self, text, as_root):
        text = text.replace("/tmp/", self.top + "/").replace("./windlass", "windlass")
        text = re.sub(r"\bvolfiles/", self.source + "/volfiles/", text)
        text = text.replace("server:/volume", VOLUME or "server:/volume")
        act = [] if as_root else ["setpriv", "--reuid", "65534", "--regid", "65534",
                                  "--clear-groups"]
        return act + ["env", "HOME=%s/home" % self.top, "LC_ALL=C.UTF-8",
                      "PATH=%s/bin:%s" % (self.top, os.environ["PATH"]),
                      "WINDLASS=" + self.source, "bash", "-o", "pipefail", "-c",
                      text + "wait\n" * (" &\n" in text)]

    def mounted(self):
        return any(line.split()[4] == self.mountpoint for line in open("/proc/self/mountinfo"))

    def ctrl_c(self, process):
        """Ends a daemon in the foreground once it has answered."""
        end = time.monotonic() + PATIENCE
        while not self.mounted():
            if time.monotonic() > end or process.poll() is not None:
                return
            time.sleep(0.05)
        subprocess.call(self.command("ls /tmp/import", False), stdout=subprocess.DEVNULL,
                        timeout=PATIENCE)
        subprocess.check_call(["umount", self.mountpoint], timeout=PATIENCE)

    def serves(self, pid):
        """Whether a process is a daemon of the mount point."""
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                return os.fsencode(self.mountpoint) in file.read().split(b"\0")
        except OSError:
            return False

    def unmount(self):
        """A daemon that is about to end may have unmounted meanwhile. The next one may want what
        this one still has, such as a log."""
        while self.mounted():
            if subprocess.call(["umount", "-l", self.mountpoint]) != 0 and self.mounted():
                raise Wrong("'%s' can't be unmounted" % self.mountpoint)
        end = time.monotonic() + PATIENCE
        while any(map(self.serves, filter(str.isdigit, os.listdir("/proc")))):
            if time.monotonic() > end:
                raise Wrong("the daemon of '%s' does not end" % self.mountpoint)
            time.sleep(0.02)

    def prepare(self, example):
        if MOUNTS.search(example.text):
            self.unmount()
        elif "/tmp/import" in example.text and not self.mounted():
            self.run("windlass -f /tmp/my.vol /tmp/import\necho hello >/tmp/import/a_file\n", False)

    def run(self, text, as_root):
        # A daemon keeps the output open, so a file has it.
        with open(self.top + "/output", "w+") as out:
            process = subprocess.Popen(self.command(text, as_root), stdout=out,
                                       stderr=out, stdin=subprocess.DEVNULL, cwd=self.top,
                                       start_new_session=True)
            try:
                if STAYS.search(text):
                    self.ctrl_c(process)
                status = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
            out.seek(0)
            return status, out.read()

    def try_example(self, example):
        if example.file:
            with open(os.path.join(self.top, example.file), "w") as out:
                out.write(example.text)
            return
        if "pidof" in example.text:
            raise Wrong("it means every daemon of the machine")
        if example.fails and not example.prints:
            raise Wrong("it fails, and no mark tells what it prints")
        if re.match(r"volume \S+$", example.text.split("\n")[0].strip()):
            with open(self.top + "/checked.vol", "w") as out:
                out.write(example.text)
            text = "windlass check /tmp/checked.vol\n"
        else:
            self.prepare(example)
            # Each command has to succeed, not only the last.
            text = (NOTE_FAILURE % example.text) if example.fails else "set -e\n" + example.text
        status, said = self.run(text, example.as_root)
        if status != 0 and not example.fails:
            raise Wrong("exit status %d\n%s" % (status, said))
        if status == 0 and example.fails:
            raise Wrong("it is marked 'fails', and no command of it failed\n%s" % said)
        said = said.replace(self.top + "/", "/tmp/")
        for one in example.prints:
            if not re.search(one, said, re.M):
                raise Wrong("no line of the output matches '%s'\n%s" % (one, said))


def try_page(source, folder, path):
    name = os.path.basename(path)
    wrong, count, left_out = [], 0, []
    reader = Reader(source, folder, name)
    for example in examples_of(path):
        if example.reason is not None:
            left_out.append("%s: not run: %s" % (example.place, example.reason))
            continue
        count += 1
        try:
            begin = time.monotonic()
            reader.try_example(example)
            if os.environ.get("EXAMPLES_VERBOSE"):
                print("%5.1f s  %s" % (time.monotonic() - begin, example.place), flush=True)
        except (Wrong, subprocess.SubprocessError) as problem:
            wrong.append("%s:\n%s%s" % (example.place, example.text, problem))
    reader.unmount()
    return count, left_out, wrong


def main():
    source, folder = sys.argv[1:3]
    man, doc = os.path.join(source, "man"), os.path.join(source, "doc")
    pages = sys.argv[3:] or sorted(
        [os.path.join(man, name) for name in os.listdir(man) if name.endswith(".in")] +
        list(filter(is_tried, (os.path.join(doc, name) for name in os.listdir(doc))))
    ) + [os.path.join(source, "README")]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda page: try_page(source, folder, page), pages))
    for _, left_out, wrong in results:
        print("\n".join(left_out + wrong) or "", end="\n" if left_out or wrong else "")
    count = sum(count for count, _, _ in results)
    print("%d examples were run" % count)
    sys.exit(any(wrong for _, _, wrong in results) or not count)


main()
