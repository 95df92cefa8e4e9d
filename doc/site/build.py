#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the site: documents and manuals as HTML, an index, and a search that needs no server.

    build.py --version VERSION --source DOC-DIR --out HTML-DIR MANUAL...

Takes mandoc and cmark-gfm."""

import argparse
import glob
import html
import json
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from content import DOCUMENTS, MANUALS, OTHER_PROGRAM_MANUALS, TRANSLATORS  # noqa: E402
from document import document_page  # noqa: E402
from manual import manual_page  # noqa: E402
from page import plain  # noqa: E402

ABOUT = "Windlass mounts a directory, or a GlusterFS volume, through a graph of translators."
HERE = os.path.dirname(os.path.realpath(__file__))


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def documents(source):
    """[(heading, [page])]"""
    paths = {os.path.basename(path)[:-3]: path for path in glob.glob(source + "/*.md")}
    groups = []
    for heading, listed in DOCUMENTS:
        groups.append((heading, [document_page(paths.pop(name), *more) for name, *more in listed
                                 if name in paths]))
    groups[-1][1].extend(document_page(path, "") for _, path in sorted(paths.items()))
    return [group for group in groups if group[1]]


def manuals(paths):
    pages = {page.name: page for page in map(manual_page, paths) if page}
    groups = [(heading, [pages.pop(name) for name in names if name in pages])
              for heading, names in MANUALS]
    program = next(group for heading, group in groups if heading == OTHER_PROGRAM_MANUALS)
    program += [pages.pop(name) for name in sorted(pages) if name.startswith("windlass")]
    groups.append((TRANSLATORS, [page for _, page in sorted(pages.items())]))
    return groups


class Linker:
    """Makes links of what texts say of other pages: storage-posix(7), doc/cluster.md, and the bold
    name of a section."""

    REFERENCE = re.compile(r"(?:<b>|<strong>|<i>)?\b([a-z][\w.@+-]*)(?:</b>|</strong>|</i>)?"
                           r"\((\d)\)|\bdoc/([a-z-]+)\.md\b")

    def __init__(self, pages):
        self.urls = {page.url: page for page in pages}

    def reference(self, match, url):
        target = "%s.html" % match[3] if match[3] else "%s.%s.html" % (match[1], match[2])
        if target not in self.urls or target == url:
            return match[0]
        return '<a href="%s">%s</a>' % (target, match[0])

    def sections(self, body, url):
        """<b>Heading</b> behind a link to its page, else on this page."""
        def link(match):
            before, text = match[1], plain(match[3])
            target = match[2] or url
            page = self.urls.get(target)
            for _, anchor, heading in page.toc if page else ():
                if heading.lower() == text.lower() and (match[2] or " " in text):
                    there = "#" + anchor if target == url else "%s#%s" % (target, anchor)
                    return '%s<a href="%s">%s</a>' % (before or "", there, match[3])
            return match[0]
        return re.sub(r'(<a href="([^"#]*)">(?:(?!</a>).)*</a>,\s+)?(<b>[A-Z][^<]*</b>)', link,
                      body, flags=re.S)

    def link(self, page):
        parts = re.split(r"(<a\b.*?</a>|<h[1-4].*?</h[1-4]>|<svg.*?</svg>)", page.body, flags=re.S)
        for at in range(0, len(parts), 2):
            parts[at] = self.REFERENCE.sub(lambda match: self.reference(match, page.url), parts[at])
        page.body = "".join(parts)
        if page.is_manual:
            page.body = self.sections(page.body, page.url)


def begun(page):
    """The summary of a page as it stands alone; a manual's NAME begins in lower case."""
    text = page.summary
    return text[:1].upper() + text[1:] if page.is_manual else text


def navigation(groups, here):
    lines = []
    for heading, pages in groups:
        lines.append("<details%s><summary>%s</summary><ul>" % (
            " open" if any(page is here for page in pages) else "", html.escape(heading)))
        for page in pages:
            lines.append('<li><a href="%s"%s>%s</a></li>' % (
                page.url, ' aria-current="page"' if page is here else "", html.escape(page.title)))
        lines.append("</ul></details>")
    return "\n".join(lines)


def contents(page):
    """What is on this page, where that is more than a few headings."""
    headings = [entry for entry in page.toc if entry[0] == 2]
    if len(page.toc) <= 12:
        headings = [entry for entry in page.toc if entry[0] <= 3]
    if len(headings) < 3:
        return ""
    items = "".join('<li class="level%d"><a href="#%s">%s</a></li>' % (
        level, anchor, html.escape(text)) for level, anchor, text in headings)
    return '<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>%s</ul></nav>' \
        % items


def neighbours(order, page):
    at = order.index(page)
    links = []
    for word, other in (("previous", at - 1), ("next", at + 1)):
        if 0 <= other < len(order):
            links.append('<a class="%s" href="%s" rel="%s">%s</a>' % (
                word, order[other].url, word[:4], html.escape(order[other].title)))
    return '<nav class="neighbours" aria-label="Neighbouring pages">%s</nav>' % "".join(links)


def article(page, order):
    crumbs = '<nav class="crumbs" aria-label="Where you are"><a href="index.html">Windlass</a>' \
        "<span>%s</span><span>%s</span></nav>" % (html.escape(page.group), html.escape(page.title))
    lede = '<p class="lede">%s</p>' % html.escape(begun(page)) if page.summary else ""
    return '%s\n<article class="%s">\n<h1>%s</h1>\n%s\n%s</article>\n%s' % (
        crumbs, "manual" if page.is_manual else "document", html.escape(page.title), lede,
        page.body, neighbours(order, page))


def home_groups(groups):
    lines = []
    for heading, pages in groups:
        lines.append('<section class="group"><h2>%s</h2><dl>' % html.escape(heading))
        for page in pages:
            lines.append('<div><dt><a href="%s">%s</a></dt><dd>%s</dd></div>' % (
                page.url, html.escape(page.title), html.escape(begun(page))))
        lines.append("</dl></section>")
    return "\n".join(lines)


class Site:
    def __init__(self, args):
        self.out, self.version = args.out, args.version
        self.groups = documents(args.source) + manuals(args.manuals)
        self.order = [page for _, pages in self.groups for page in pages]
        linker = Linker(self.order)
        for heading, pages in self.groups:
            for page in pages:
                page.group = heading
                linker.link(page)
        self.frame = read("frame.html")

    def write(self, url, title, here, main, side):
        text = self.frame
        values = {"title": html.escape(title), "version": html.escape(self.version),
                  "summary": html.escape(here.summary if here else ABOUT),
                  "navigation": navigation(self.groups, here), "contents": side,
                  "class": "inner" if here else "home", "main": main}
        for key, value in values.items():
            text = text.replace("{{%s}}" % key, value)
        with open(os.path.join(self.out, url), "w", encoding="utf-8") as file:
            file.write(text)

    def write_index(self):
        entries = [entry for page in self.order for entry in page.entries]
        rows = [[entry.name, entry.kind, entry.url, entry.where, entry.text] for entry in entries]
        with open(os.path.join(self.out, "search-index.js"), "w", encoding="utf-8") as file:
            file.write("window.searchIndex = [\n%s\n];\n" % ",\n".join(
                json.dumps(row, ensure_ascii=False) for row in rows))

    def write_all(self):
        for page in self.order:
            self.write(page.url, "%s \u2013 Windlass" % page.title, page,
                       article(page, self.order), contents(page))
        home = read("home.html").replace("{{groups}}", home_groups(self.groups))
        home = home.replace("{{manual}}", next(page.url for page in self.order
                                               if page.is_manual and page.name == "windlass"))
        self.write("index.html", "Windlass", None, home, "")
        self.write_index()
        for name in ("style.css", "search.js", "mark.svg"):
            shutil.copyfile(os.path.join(HERE, name), os.path.join(self.out, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--version", "--source", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("manuals", nargs="+")
    args = parser.parse_args()
    missing = [tool for tool in ("mandoc", "cmark-gfm") if not shutil.which(tool)]
    if missing:
        sys.exit("build.py: the site is made by %s: install it" % " and ".join(missing))
    os.makedirs(args.out, exist_ok=True)
    pictures = os.path.join(args.source, "pictures")
    if os.path.isdir(pictures):
        os.makedirs(os.path.join(args.out, "pictures"), exist_ok=True)
        for path in glob.glob(pictures + "/*.svg"):
            shutil.copyfile(path, os.path.join(args.out, "pictures", os.path.basename(path)))
    Site(args).write_all()


main()
