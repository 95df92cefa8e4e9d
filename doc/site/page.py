# SPDX-License-Identifier: LGPL-2.1-or-later
"""What manuals and documents have in common."""

import html
import re
import unicodedata


class Entry:
    """What the search finds: a name, its kind, where it is, and a line that tells it apart."""

    def __init__(self, name, kind, url, where, text=""):
        self.name, self.kind, self.url, self.where, self.text = name, kind, url, where, text


class Page:
    def __init__(self, url, title, summary, body):
        self.url, self.title, self.summary, self.body = url, title, summary, body
        self.name = url.rsplit(".", 1)[0]
        self.toc = []  # (level, anchor, text)
        self.entries = []
        self.is_manual = False
        self.group = ""


class Unique:
    """Anchors of one page: each is given once."""

    def __init__(self):
        self.seen = {}

    def of(self, anchor):
        self.seen[anchor] = self.seen.get(anchor, 0) + 1
        return anchor if self.seen[anchor] == 1 else "%s-%d" % (anchor, self.seen[anchor])


def plain(markup):
    """The text of a piece of HTML, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def slug(text):
    """An anchor. Leading dashes of an option are kept out, upper case is kept for -L beside -l."""
    text = unicodedata.normalize("NFKD", text)
    if not re.fullmatch(r"-[A-Z]", text):
        text = text.lower()
    return re.sub(r"[^\w.]+", "-", text, flags=re.A).strip("-.") or "x"
