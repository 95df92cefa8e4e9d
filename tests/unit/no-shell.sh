#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# No name in a volfile can start a shell or another program: no translator calls a function that
# does, and the program calls one for fusermount3 alone.
set -u
command -v nm >/dev/null || { echo "needs nm"; exit 77; }
starts='system|popen|wordexp|exec[lv]p?e?|execvpe|execveat|fexecve|posix_spawnp?|g_spawn_[a-z_]*|g_subprocess_[a-z_]*|vfork'
status=0
cd "$SOURCE_DIR" || exit 1
modules=$(find "$BUILD_DIR/xlators" -name '*.so')
[ -n "$modules" ] || { echo "there are no modules in $BUILD_DIR/xlators"; exit 1; }

while IFS= read -r module; do
    wrong=$(nm -D --undefined-only "$module" 2>/dev/null | awk '{ sub (/@.*/, "", $2); print $2 }' |
        grep -xE "$starts")
    [ -z "$wrong" ] && continue
    echo "${module#"$BUILD_DIR"/} can start programs, with ${wrong//$'\n'/, }"
    status=1
done <<<"$modules"

# Command line tools may; what a mount is made of may not. A comment may name them.
while IFS=: read -r file line text; do
    [[ $text =~ ^[[:space:]]*/?\*[[:space:]] ]] && continue
    grep -q 'fusermount3' "$file" && [[ $text == *posix_spawnp* ||
        $text == *"execvp (argv[0], argv)"* ]] && continue
    echo "$file:$line: starts a program: $text"
    status=1
done < <(grep -nE "(^|[^a-z_])($starts) \(" -r src/core src/graph src/fuse src/daemon src/main.c \
    --include='*.c')
exit $status
