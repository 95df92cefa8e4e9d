#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The bench measures, writes its tables, pictures and figures, merges the figures of two runs, and
# compares them.
# long
. "$(dirname "$0")/../lib.sh"
need_fuse
need_root
need_command python3
need_command cc

# bench ARGUMENTS...: what it says goes to $TEST_DIR/said
bench () {
    "$SOURCE_DIR/tests/bench/run" --windlass "$WINDLASS" --dir "$TEST_DIR" \
        "$@" >"$TEST_DIR/said" 2>"$TEST_DIR/progress" ||
        fail "$(tail -n 20 "$TEST_DIR/progress" "$TEST_DIR/said")"
}

bench --quick --peers bare,windlass --only data,direct,translators,clients,depth --out \
    "$TEST_DIR/out"
report=$(cat "$TEST_DIR/out/report.txt")
expect_match "the machine" "Linux $(uname -r)" "$report"
expect_match "how busy it was" 'others used [0-9.]+ % of a CPU' "$report"
expect_match "a table of what was measured" '^windlass( +[0-9,]+){6}$' \
    "$(sed -n '/^data, one CPU: op/,/^data, one CPU: as/p' <<<"$report")"
expect_match "a table of what was measured directly" '^windlass( +[0-9,]+){6}$' \
    "$(sed -n '/^direct, all CPUs: op/,/^direct, all CPUs: as/p' <<<"$report")"
expect_match "what one translator more costs" '^windlass .* -?[0-9]+ ns$' "$report"
for picture in data direct translators-getattr clients-open depth-cold; do
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse (sys.argv[1])' \
        "$TEST_DIR/out/$picture.svg" ||
        fail "$picture.svg isn't well formed"
done

bench --quick --peers windlass --only data --json "$TEST_DIR/b.json"
bench --from "$TEST_DIR/out/results.json" "$TEST_DIR/b.json" --compare "$TEST_DIR/b.json" --json \
    "$TEST_DIR/both.json"
expect_match "two runs put together and compared" '^windlass( +[0-9.]+){6}$' \
    "$(sed -n '/^against the older/,$p' "$TEST_DIR/said")"
expect "rounds of both" 2 "$(python3 -c 'import json, sys
row = json.load (open (sys.argv[1]))["compared"]["data, all CPUs"]["write 1M"]
print (len (row["windlass"]["rates"]))' "$TEST_DIR/both.json")"

if command -v glusterfsd >/dev/null && command -v glusterfs >/dev/null; then
    bench --quick --peers windlass+volume,glusterfs+volume --only data
    for peer in windlass glusterfs; do
        expect_match "CPU of daemon, client and brick" \
            "^$peer\+volume +[0-9.]+ \+ [0-9.]+ \+ [0-9.]+ " \
            "$(sed -n '/^data, one CPU: microseconds/,$p' "$TEST_DIR/said")"
    done
fi

out=$("$SOURCE_DIR/tests/bench/run" --only nothing 2>&1)
expect "status where there is no such section" 2 $?
expect_match "a section that there isn't" \
    "argument --only: there is no 'nothing', there are meta, " "$out"
out=$("$SOURCE_DIR/tests/bench/run" --from "$0" 2>&1)
expect "status where a file isn't its own" 2 $?
expect_match "a file that isn't its own" "can't take figures from '$0'" "$out"
expect "what it leaves" "" "$(find "$TEST_DIR" -name 'windlass-bench-*')"
