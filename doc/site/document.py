# SPDX-License-Identifier: LGPL-2.1-or-later
"""A document of doc/ as a page of the site: cmark-gfm's HTML, with anchors and figures."""

import html
import os
import re
import subprocess

from page import Entry, Page, Unique, plain, slug


def run_cmark(path):
    return subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-t", "html", path], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout


def figure(match):
    """A paragraph that is a picture alone. The caption is its text; a click opens it."""
    source, text = match[1], match[2]
    return ('<figure><div class="scroll"><a href="%s"><img src="%s" alt="%s"></a></div>'
            "<figcaption>%s</figcaption></figure>" % (source, source, text, text))


def scrolling(body):
    """Tables are as wide as they need, and scroll in a narrow window."""
    return re.sub(r"<table>.*?</table>", r'<div class="scroll">\g<0></div>', body, flags=re.S)


def document_page(path, summary, title=None):
    """title: instead of its own."""
    name = os.path.basename(path)[:-3]
    url, ids, toc, entries = name + ".html", Unique(), [], []
    body = re.sub(r"<!--.*?-->\n?", "", run_cmark(path), flags=re.S)
    found = re.search(r"<h1>(.*?)</h1>\n?", body, re.S)
    title = title or plain(found[1])
    body = body.replace(found[0], "", 1)

    def heading(match):
        level, text = int(match[1]), plain(match[2])
        anchor = ids.of(slug(text))
        toc.append((level, anchor, text))
        entries.append(Entry(text, "section", "%s#%s" % (url, anchor), title))
        return '<h%d id="%s"><a class="permalink" href="#%s">%s</a></h%d>' % (
            level, anchor, anchor, match[2], level)

    body = re.sub(r"<h([2-4])>(.*?)</h\1>", heading, body, flags=re.S)
    body = re.sub(r'<p><img src="([^"]*)" alt="([^"]*)" />\s*</p>', figure, body)
    body = re.sub(r'href="(?:doc/)?([a-z-]+)\.md(#[^"]*)?"', r'href="\1.html\2"', body)
    page = Page(url, title, summary, scrolling(body))
    page.toc = toc
    page.entries = [Entry(title, "page", url, title, html.unescape(summary))] + entries
    return page
