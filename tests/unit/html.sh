#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The site that `make html` makes of manuals and documents: no link of it is broken, each subcommand,
# option and operation can be searched for, and each document of the tree is a page.
# builds: release only
. "$(dirname "$0")/../mount/lib.sh"
need_command flock make mandoc cmark-gfm python3

flock "$BUILD_DIR/Makefile" make -C "$BUILD_DIR" html >made.log 2>&1 || fail "$(tail made.log)"
html=$BUILD_DIR/html
said=$(python3 "$SOURCE_DIR/doc/site/links.py" "$html") || fail "$said"
echo "$said"

for document in "$SOURCE_DIR"/doc/*.md; do
    name=$(basename "$document" .md)
    [ -s "$html/$name.html" ] || fail "doc/$name.md is not in doc/local.mk, so it is no page"
    grep -q "\"$name\"" "$SOURCE_DIR/doc/site/content.py" ||
        fail "doc/$name.md has no line in doc/site/content.py, so the index says nothing of it"
done
for page in "$BUILD_DIR"/man/man*/*.*; do
    grep -q '^\.so ' "$page" || [ -s "$html/${page##*/}.html" ] || fail "${page##*/} is no page"
done

# has KIND NAME PAGE
has () {
    grep -q "^\[\"$2\", \"$1\", \"$3" "$html/search-index.js" ||
        fail "the search has no $1 '$2' in $3"
}
for command in inflight explain 'timeline start' umount; do
    has subcommand "$command" windlass-commands.1.html
done
for operation in $("$WINDLASS" help --operations | grep -ow 'lookup\|writev\|fsync\|rename'); do
    has operation "$operation" fops.7.html
done
while read -r option; do
    has option "$option" storage-posix.7.html
done < <("$WINDLASS" help storage/posix | sed -n "s/^  \([a-z][a-z-]*\)$/\1/p" | head -n 5)
has option attribute-timeout windlass-options.1.html
has option --slowest windlass-commands.1.html#timeline-start-slowest
has manual performance-write-behind performance-write-behind.7.html

# A link that leads nowhere is found, or the above shows nothing.
cp -r "$html" broken
sed -i 's/href="fops\.7\.html"/href="fops.7.htm"/; s/id="examples"/id="exampel"/; s|</dl>||' \
    broken/*.7.html
python3 "$SOURCE_DIR/doc/site/links.py" broken >broken.log && fail "broken links are not found"
expect_match "a broken link" "'fops.7.htm' leads to no file" "$(cat broken.log)"
expect_match "an element without an end" "windlass-gdb.7.html: .*<dl|ends nothing: in .*'dl'" \
    "$(cat broken.log)"
