#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# make dist packs each file that the repository tracks, no other one of the sources, and the list of
# them, from which the unpacked tarball can be packed again.
set -u
cd "$SOURCE_DIR" || exit 1
if ! files=$(git -c safe.directory="$SOURCE_DIR" ls-files 2>/dev/null); then
    echo "needs git, and sources that are a checkout"
    exit 77
fi
untracked=a-file-that-no-one-tracks
trap 'rm -f "$untracked"' EXIT
touch "$untracked"

packed=$TEST_DIR/windlass
if ! make -s -C "$BUILD_DIR" distdir distdir="$packed" >"$TEST_DIR/make.log" 2>&1; then
    cat "$TEST_DIR/make.log"
    exit 1
fi
status=0
lacks=$(grep -vE '(^|/)\.gitignore$' <<<"$files" |
    while read -r file; do [ -f "$packed/$file" ] || echo "$file"; done)
[ -z "$lacks" ] || { echo "the tarball lacks:" "$lacks"; status=1; }
[ ! -e "$packed/$untracked" ] || { echo "$untracked was packed"; status=1; }
again=$("$packed/tools/source-files") || status=1
[ "$again" = "$(tools/source-files)" ] ||
    { echo "an unpacked tarball lists other files than the checkout"; status=1; }
exit $status
