#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Looks at each page of a made site in a headless Chromium, as a reader of its files would.

    browse.py [--browser PROGRAM] [--pictures DIR] HTML-DIR [PAGE]...

At each of two widths no page is wider than the window, has a picture that is missing, or writes an
error to the console; and the search finds what it is asked for. --pictures writes what was seen.
The browser is driven through a pipe, in the protocol of its developer tools."""

import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WIDTHS = (400, 1400)
# What is asked for, and a page that has to be among the first two.
SEARCHES = (("write-behind", "performance-write-behind.7.html"),
            ("inflight", "windlass-commands.{}.html#inflight"),
            ("attribute-timeout", "windlass-options.{}.html#attribute-timeout"),
            ("timeline start", "windlass-commands.{}.html#timeline-start"),
            ("ftruncate", "fops.7.html#ftruncate"),
            ("descriptor cache", "storage-posix.7.html#descriptor-cache"),
            ("EXDEV", "why-errors.html"))
LOOK = """({
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    widest: [...document.querySelectorAll("main *")].filter((one) =>
        one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll, pre"))
        .slice(0, 3).map((one) => one.tagName + " '" + one.textContent.trim().slice(0, 40) + "'"),
    missing: [...document.images].filter((one) => !one.complete || !one.naturalWidth)
        .map((one) => one.src),
    height: document.documentElement.scrollHeight,
})"""
SEARCH = """((text) => {
    const input = document.querySelector("input[type=search]");
    input.value = text;
    input.dispatchEvent(new Event("input"));
    return [...document.querySelectorAll("#found a")].map((one) => one.getAttribute("href"));
})(%s)"""


class Browser:
    """A Chromium, with one tab."""

    def __init__(self, program, folder):
        self.number, self.events, self.pending = 0, [], b""
        to_read, self.to = os.pipe()
        self.source, from_write = os.pipe()
        options = ["--headless", "--remote-debugging-pipe", "--user-data-dir=" + folder,
                   "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
                   "--allow-file-access-from-files", "--hide-scrollbars"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # it refuses root otherwise
        # The browser has its pipes at 3 and 4.
        shell = 'exec "$0" "$@" 3<&%d 4>&%d' % (to_read, from_write)
        self.process = subprocess.Popen(["bash", "-c", shell, program] + options,
                                        pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": folder})
        os.close(to_read)
        os.close(from_write)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.pending:
            more = os.read(self.source, 1 << 20)
            if not more:
                sys.exit("browse.py: the browser has ended")
            self.pending += more
        one, self.pending = self.pending.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit("browse.py: %s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit("browse.py: %s" % answer["exceptionDetails"])
        return answer["result"]["value"]

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def colours(self, scheme):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        """What the page says that it should not, until it is loaded."""
        self.events = []
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())
        return list(filter(None, map(self.complaint, self.events)))

    @staticmethod
    def complaint(event):
        params = event.get("params", {})
        method = event.get("method")
        if method == "Runtime.exceptionThrown":
            return "an exception: %s" % params["exceptionDetails"].get("exception", {}).get(
                "description")
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            return "the console: %s" % params["args"]
        if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            return "the log: %s %s" % (params["entry"]["text"], params["entry"].get("url", ""))
        if method == "Network.loadingFailed" and not params.get("canceled"):
            return "not loaded: %s" % params["errorText"]
        return None

    def picture(self, path, height):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": self.evaluate("innerWidth"),
                               "height": min(height, 6000), "scale": 1})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def end(self):
        os.close(self.to)
        self.process.terminate()
        self.process.wait(30)


def look(browser, folder, name, pictures):
    wrong = []
    url = pathlib.Path(folder, name).as_uri()
    for width in WIDTHS:
        browser.size(width)
        place = "%s at %d pixels: " % (name, width)
        wrong += [place + one for one in browser.open(url)]
        seen = browser.evaluate(LOOK)
        if seen["wide"] > 0:
            wrong.append("%s%d pixels wider than the window: %s" % (
                place, seen["wide"], ", ".join(seen["widest"])))
        wrong += ["%sa picture is missing: %s" % (place, one) for one in seen["missing"]]
        if pictures:
            for scheme in ("light", "dark"):
                browser.colours(scheme)
                browser.picture("%s/%s-%d-%s.png" % (pictures, name[:-5], width, scheme),
                                seen["height"])
            browser.colours("light")
    return wrong


def search(browser, folder):
    """A page stands for those of its name in another section of the manual, too."""
    browser.open(pathlib.Path(folder, "index.html").as_uri())
    wrong = []
    for text, page in SEARCHES:
        wanted = [page.format(section) for section in (1, 8)]
        found = browser.evaluate(SEARCH % json.dumps(text))
        if not any(one.startswith(tuple(wanted)) for one in found[:2]):
            wrong.append("the search for '%s' finds %s, and '%s' is not among the first two" % (
                text, found, page))
    if browser.evaluate(SEARCH % '"no-such-name"'):
        wrong.append("the search finds what is not there")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--pictures")
    parser.add_argument("folder")
    parser.add_argument("pages", nargs="*")
    args = parser.parse_args()
    folder = os.path.realpath(args.folder)
    pages = args.pages or sorted(name for name in os.listdir(folder) if name.endswith(".html"))
    wrong = []
    with tempfile.TemporaryDirectory(prefix="browse.", ignore_cleanup_errors=True) as home:
        browser = Browser(args.browser, home)
        try:
            for name in pages:
                wrong += look(browser, folder, name, args.pictures)
            if not args.pages:
                wrong += search(browser, folder)
        finally:
            browser.end()
    print("\n".join(wrong + ["%d pages were looked at" % len(pages)]))
    return bool(wrong) or not pages


sys.exit(main())
