#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass inflight: each request without an answer, with its age, path and process, where it is and
# what it waits for; also when every thread that serves the mount is stuck.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"

# inflight REGEX [OPTION...]: waits until some line of it matches, and prints it.
inflight () {
    local regex=$1
    shift
    wait_until '"$WINDLASS" inflight "$MNT" '"$*"' >said && grep -Eq -- "'"$regex"'" said'
    cat said
}

need_root
mkdir "$BACK/dir"
name=$'new\nline\e[2J'
echo hello >"$BACK/dir/file"
echo hello >"$BACK/dir/$name"
cat >rules <<RULES
open path "/dir/file" -> hang name "here"
open path "/dir/new*" -> delay 60m
RULES
stack encryption/rot-13 "debug/fault,rules=$TEST_DIR/rules"
mount_volfile "$VOL"
expect "an idle mount" "no request waits" "$("$WINDLASS" inflight "$MNT")"

# Held back by a rule, for ever and for a time; a name that a terminal would act on.
cat "$MNT/dir/file" >/dev/null 2>&1 &
hung=$!
said=$(inflight 'waits for: a release: ')
expect_match "what is asked for" '^request [0-9]+: open of /dir/file, for [0-9.]+ s$' "$said"
expect_match "its process" "^    process:   cat \($hung\), uid 0$" "$said"
expect_match "where it is" \
    "^    now at:    'fault-2' \(debug/fault\), asked for open by bridge_open_wind at .*src/fuse/ops/open.c:[0-9]+$" \
    "$said"
expect_match "what it waits for" \
    '^    waits for: a release: it hangs, by the rule in line 1: open path "/dir/file" -> hang' \
    "$said"
expect_match "its way" '^    way:       fuse -> fault-2$' "$said"
cat "$MNT/dir/$name" >/dev/null 2>&1 &
delayed=$!
said=$(inflight 'waits for: the end of a delay' | tail -n 5)
expect_match "the name" 'open of /dir/new\\x0aline\\x1b\[2J, for' "$said"
expect_match "what it waits for" \
    'waits for: the end of a delay, in 3[0-9]{3}\.[0-9]+ s, by the rule in line 2' "$said"
"$WINDLASS" inflight "$MNT" --json >json
expect "as JSON" "/dir/file fault-2 2" "$(python3 -c '
import json, sys
r = json.load (open ("json"))["requests"]
print (r[0]["path"], r[0]["frames"][-1]["translator"], len (r))')"
expect "the young ones are left out" "no request waits" "$("$WINDLASS" inflight "$MNT" --older 1h)"
kill $hung $delayed
wait
wait_until '[ "$("$WINDLASS" inflight "$MNT")" = "no request waits" ]'

expect_ok "$WINDLASS" fault "$MNT" --clear
expect_error "there are json and older" "$WINDLASS" tell "$MNT" - inflight rules
expect_error "windlass inflight: --older must be" "$WINDLASS" inflight "$MNT" --older tomorrow
expect_error "'$BACK' is not a mount point" "$WINDLASS" inflight "$BACK"
unmount
