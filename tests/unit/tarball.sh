#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every file of the repository is on a list of what `make dist` packs, by itself or with its folder.
set -u
cd "$SOURCE_DIR" || exit 1
if ! git -c safe.directory="$SOURCE_DIR" ls-files >"$TEST_DIR/files" 2>/dev/null; then
    echo "needs git, and sources that are a checkout"
    exit 77
fi
# Of the Makefile; what is before the last line is its being made again.
printf 'show:\n\t@echo $(DISTFILES)\n' |
    make -s --no-print-directory -C "$BUILD_DIR" -f Makefile -f - show 2>/dev/null | tail -n 1 |
    tr ' ' '\n' | sed "s|^$SOURCE_DIR/||; s|^\(\.\./\)*||" | sort -u >"$TEST_DIR/packed"
[ "$(wc -l <"$TEST_DIR/packed")" -gt 500 ] || { echo "the list can't be read"; exit 1; }

# check is packed by dist-hook. .gitignore is of the repository alone.
lacks=$(grep -vE '(^|/)\.gitignore$|^check$' "$TEST_DIR/files" |
    awk 'NR == FNR { packed[$0] = 1; next }
        {
            for (path = $0; path != "" && !(path in packed);)
                if (!sub (/\/[^\/]*$/, "", path)) path = ""
            if (path == "") print
        }' "$TEST_DIR/packed" -)
[ -z "$lacks" ] && exit 0
echo "these are on no list in a local.mk or in Makefile.am, so the tarball will lack them:"
echo "$lacks"
exit 1
