#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each page of the site, in a headless Chromium at 400 and 1,400 pixels: no page is wider than its
# window, no picture is missing, nothing is on the console, and the search finds what it is asked.
# builds: release only
# long
. "$(dirname "$0")/../mount/lib.sh"
need_command flock make mandoc cmark-gfm python3 chromium

flock "$BUILD_DIR/Makefile" make -C "$BUILD_DIR" html >made.log 2>&1 || fail "$(tail made.log)"
said=$(timeout 250 python3 "$SOURCE_DIR/doc/site/browse.py" "$BUILD_DIR/html") || fail "$said"
echo "$said"

# What it looks for is found, or the above shows nothing.
cp -r "$BUILD_DIR/html" broken
echo '<script>console.error("wrong")</script>' >>broken/fops.7.html
sed -i 's|<main|<main style="min-width: 500px"|' broken/fops.7.html
said=$(timeout 60 python3 "$SOURCE_DIR/doc/site/browse.py" broken fops.7.html) &&
    fail "a page that is too wide passes"
expect_match "on the console" 'fops.7.html at 400 pixels: the console: .*wrong' "$said"
expect_match "the width" 'fops.7.html at 400 pixels: .*pixels wider than the window' "$said"
