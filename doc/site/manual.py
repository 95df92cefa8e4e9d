# SPDX-License-Identifier: LGPL-2.1-or-later
"""A manual page as a page of the site: mandoc's HTML, with anchors that are named after what they
lead to, and with links between the pages."""

import html
import re
import subprocess

from page import Entry, Page, Unique, plain, slug

# Words that a heading in capitals has, and that are written differently.
WORDS = {"glusterfs": "GlusterFS", "fuse": "FUSE", "i": "I", "gdb": "gdb", "linux": "Linux",
         "io_uring": "io_uring", "posix": "POSIX", "tls": "TLS", "windlass": "Windlass"}


def sentence(heading):
    """A heading in capitals, as the other headings are written."""
    if heading != heading.upper():
        return heading
    words = [WORDS.get(word, word) for word in heading.lower().split()]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


def run_mandoc(path):
    said = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", path], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout
    body = re.sub(r'^.*?<div class="manual-text">\n', "", said, count=1, flags=re.S)
    return re.sub(r'</div>\n<table class="foot">.*$', "", body, flags=re.S)


def tidy(body):
    """What mandoc makes of man(7) that browsers show badly."""
    body = re.sub(r"\n?<br/>\n", "\n", body)  # in <pre>, where a line ends anyway
    body = re.sub(r"\s*<dt></dt>\s*<dd>", '\n<dt class="none"></dt><dd>', body)
    # Each .IP after a .TP begins a list of its own; the paragraph belongs to the term before it.
    body = re.sub(r'</dd>\s*<dt class="none"></dt><dd>', '<div class="Pp"></div>', body)
    body = re.sub(r'<p class="Pp">\s*</p>\n?', "", body)
    return re.sub(r'<table(?! class="Nm").*?</table>', tidy_table, body, flags=re.S)


def tidy_table(match):
    """Without the lines that tbl(1) has for paper."""
    table = re.sub(r' (?:style|border)="[^"]*"', "", match[0])
    return '<div class="scroll">%s</div>' % table


def first_sentence(match):
    """Of what follows a term, for the search."""
    text = plain(match.string[match.end():match.end() + 600].split("</dd>")[0])
    text = re.match(r"(?:[^.;]|\.(?=\S))*", text)[0]
    return text if len(text) <= 100 else text[:100].rsplit(" ", 1)[0] + " \u2026"


class Manual:
    """Collects the entries of one page while its headings and terms get their anchors."""

    def __init__(self, path):
        self.name, self.section = path.rsplit("/", 1)[1].rsplit(".", 1)
        self.url = "%s.%s.html" % (self.name, self.section)
        self.ids, self.toc, self.entries, self.heading = Unique(), [], [], ""
        self.commands = {}  # anchor: the subcommand that it is the term of
        body = tidy(run_mandoc(path))
        found = re.search(r'<section class="Sh">\s*<h1[^>]*id="NAME".*?<p class="Pp">(.*?)</p>\s*'
                          r"</section>", body, re.S)
        self.summary = plain(found[1]).split(" - ", 1)[1]
        body = body.replace(found[0], "", 1)
        body = re.sub(r"<(h[12]|dt)\b([^>]*)>(.*?)</\1>", self.anchor, body, flags=re.S)
        self.command = None
        self.body = re.sub(r'<dt id="([^"]*)">|<b>(--[a-z][a-z-]*)(=?)</b>', self.option, body)

    def add(self, name, kind, anchor, text=""):
        self.entries.append(Entry(name, kind, "%s#%s" % (self.url, anchor), self.title(), text))

    def title(self):
        return "%s(%s)" % (self.name, self.section)

    def anchor(self, match):
        tag, content = match[1], re.sub(r'</?a\b[^>]*>', "", match[3])
        text = plain(content)
        if not text:
            return match[0]
        if tag == "dt":
            return self.term(match, content, text)
        text = sentence(text)
        anchor = self.ids.of(slug(text))
        level = 2 if tag == "h1" else 3
        self.toc.append((level, anchor, text))
        if level == 2:
            self.heading = text
        is_fop = self.name == "fops" and self.heading == "Operations" and level == 3
        self.add(text, "operation" if is_fop else "section", anchor)
        return '<h%d id="%s"><a class="permalink" href="#%s">%s</a></h%d>' % (
            level, anchor, anchor, html.escape(text), level)

    def term(self, match, content, text):
        names, about = self.names(content, text), first_sentence(match)
        anchor = self.ids.of(slug(names[0]))
        kind = ("subcommand" if text.startswith("windlass ") else
                "option" if text.startswith("-") or "ption" in self.heading else "term")
        if kind == "subcommand":
            self.commands[anchor] = "windlass " + names[0]
        for name in names:
            self.add(name, kind, anchor, about)
        return '<dt id="%s"><a class="permalink" href="#%s">%s</a></dt>' % (anchor, anchor, content)

    def option(self, match):
        """An option of a subcommand is within the subcommand's text."""
        if match[1]:
            self.command = match[1] if match[1] in self.commands else None
        anchor = "%s-%s" % (self.command, slug(match[2] or ""))
        if match[1] or not self.command or self.ids.seen.get(anchor):
            return match[0]
        self.add(match[2], "option", self.ids.of(anchor), self.commands[self.command])
        return '<b id="%s">%s%s</b>' % (anchor, match[2], match[3])

    @staticmethod
    def names(content, text):
        if text.startswith("windlass "):
            bold = plain(re.match(r"\s*<b>(.*?)</b>", content, re.S)[1])
            return [bold.split(" ", 1)[-1].strip()]
        parts = re.split(r", |\s+\|\s+", text)
        # "-o attribute-timeout=SECONDS": what is looked for is the word after -o.
        parts = [re.sub(r"^-o (?=[a-z])", "", part) for part in parts]
        return [re.split(r"[=\[ ]", part)[0] or part for part in parts] or [text]


def manual_page(path):
    """None for the alias of another page."""
    with open(path, encoding="utf-8") as file:
        if file.read(4) == ".so ":
            return None
    manual = Manual(path)
    page = Page(manual.url, manual.title(), manual.summary, manual.body)
    page.name, page.toc, page.is_manual = manual.name, manual.toc, True
    page.entries = [Entry(manual.name, "manual", manual.url, manual.title(), manual.summary)]
    page.entries += manual.entries
    return page
