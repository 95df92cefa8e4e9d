#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks a made site without a browser.

    links.py HTML-DIR

Each link, picture and script is a file of the folder; an anchor is on its page, and once; each
entry of the search leads to one; no page is without a link from another; each element ends where
the one around it expects; a manual that a text names is linked."""

import html.parser
import json
import os
import re
import sys
from urllib.parse import unquote, urlsplit


WITHOUT_END = {"br", "col", "hr", "img", "input", "link", "meta"}
ENDS_BY_ITSELF = {"p", "li"}  # where the next begins, or what is around it ends


class Reader(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.wrong, self.around = [], [], [], []
        self.text = ""  # of the article, with a blank for each link and heading
        self.feed(text)
        self.wrong += ["<%s> has no end" % tag for tag, _ in self.around]

    def handle_endtag(self, tag):
        while self.around and self.around[-1][0] != tag and self.around[-1][0] in ENDS_BY_ITSELF:
            self.around.pop()
        if self.around and self.around[-1][0] == tag:
            self.around.pop()
        elif tag not in WITHOUT_END:
            self.wrong.append("line %d: </%s> ends nothing: in %s" % (
                self.getpos()[0], tag, self.around[-1:]))

    def handle_data(self, data):
        tags = {tag for tag, _ in self.around}
        if "article" in tags:
            self.text += " " if tags & {"a", "h1", "nav"} else data

    def handle_starttag(self, tag, attrs):
        if tag not in WITHOUT_END:
            self.around.append((tag, self.getpos()[0]))
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name in ("href", "src"):
                self.links.append(value)


def outside(link):
    return urlsplit(link).scheme in ("http", "https", "mailto")


class Site:
    def __init__(self, folder):
        self.folder, self.wrong, self.reached, self.count = folder, [], set(), 0
        self.pages = {}
        for name in sorted(os.listdir(folder)):
            if name.endswith(".html"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    self.pages[name] = Reader(file.read())

    def check(self, place, link):
        if outside(link):
            return
        self.count += 1
        parts = urlsplit(link)
        target, anchor = unquote(parts.path) or place, unquote(parts.fragment)
        if not os.path.isfile(os.path.join(self.folder, target)):
            self.wrong.append("%s: '%s' leads to no file" % (place, link))
        elif anchor and anchor not in self.pages[target].ids:
            self.wrong.append("%s: '%s' leads to no place of that page" % (place, link))
        elif target != place:
            self.reached.add(target)

    def check_page(self, name, page):
        for anchor in sorted({one for one in page.ids if page.ids.count(one) > 1}):
            self.wrong.append("%s: the anchor '%s' is there more than once" % (name, anchor))
        for link in page.links:
            self.check(name, link)
        self.wrong += ["%s: %s" % (name, one) for one in page.wrong[:5]]
        for manual, section in re.findall(r"([a-z][\w.@+-]*)\((\d)\)", page.text):
            target = "%s.%s.html" % (manual, section)
            if target in self.pages and target != name:
                self.wrong.append("%s: '%s(%s)' is not a link" % (name, manual, section))

    def check_index(self):
        with open(os.path.join(self.folder, "search-index.js"), encoding="utf-8") as file:
            rows = json.loads(re.search(r"\[.*\]", file.read(), re.S)[0])
        for row in rows:
            self.check("search-index.js", row[2])
        return len(rows)

    def check_all(self):
        for name, page in self.pages.items():
            self.check_page(name, page)
        rows = self.check_index()
        for name in sorted(set(self.pages) - self.reached):
            self.wrong.append("%s: no page leads to it" % name)
        print("\n".join(self.wrong + ["%d pages, %d links, %d names to search for" % (
            len(self.pages), self.count, rows)]))
        return bool(self.wrong) or not self.pages or not rows


sys.exit(Site(sys.argv[1]).check_all())
