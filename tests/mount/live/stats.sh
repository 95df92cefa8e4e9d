#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass stats: what each translator was asked, as OpenMetrics, as JSON and drawn; on, off, and
# errors.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"

need_command python3
stats () {
    "$WINDLASS" stats "$@"
}

# The number of a sample whose line matches.
number () {
    stats "$MNT" 2>/dev/null | sed -n "s/^$1 //p"
}

# count TRANSLATOR FOP
count () {
    number "windlass_fop_seconds_count{translator=\"$1\",.*,fop=\"$2\"}"
}

stack encryption/rot-13 debug/delay-gen,delay-percentage=100%,delay-duration=20000,enable=fsync
sed -i 's/rot-13-1/ro{t=,}é/' "$VOL"
MNT="$TEST_DIR/m\"nt"
mkdir "$MNT"
mount_volfile "$VOL"

# Off: the process's numbers, and how to have more.
said=$(stats "$MNT" 2>&1) || fail "stats while it is off"
expect_match "off" \
    "measuring is off, and nothing was measured yet; start with: windlass stats .*/m.* --on" "$said"
expect_match "off" '^windlass_measuring 0$' "$said"
expect_match "the process" '^windlass_threads [1-9]' "$said"
expect_no_match "nothing was counted" '^windlass_fop_[a-z_]*[^s ]{' "$said"
expect_error 'measuring is off already' stats "$MNT" --off

expect "on" "measuring is on; draw the times with: windlass stats '$MNT' --histogram
end it with: windlass stats '$MNT' --off" "$(stats "$MNT" --on)"
expect_error 'measuring is on already' stats "$MNT" --on
for i in 1 2 3; do
    echo hello >"$MNT/file"
    sync "$MNT/file"
    ! cat "$MNT/missing" 2>/dev/null || fail "there is a file 'missing'"
done
stats "$MNT" >text || fail "stats"
python3 "$SOURCE_DIR/tests/mount/live/openmetrics.py" <text >/dev/null ||
    fail "this is no OpenMetrics"
expect_match "a name with quotes" '^windlass_build_info\{version=".*",mountpoint=".*/m\\"nt"\} 1$' \
    "$(cat text)"
expect_match "a name with braces" \
    '^windlass_fop_seconds_count\{translator="ro\{t=,\}é",type="encryption/rot-13",fop="writev"\} 3$' \
    "$(cat text)"
expect_match "an error" \
    '^windlass_fop_errors_total\{translator="posix",.*fop="lookup",errno="ENOENT"\} [1-9]' \
    "$(cat text)"
expect "writes at storage" 3 "$(count posix writev)"
expect "writes through who doesn't implement them" '' "$(count 'ro.*' fsync)"
expect "how often it is read changes nothing" 3 "$(count posix writev)"
for what in '' own_; do
    sum=$(number "windlass_fop_${what}seconds_sum{translator=\"delay-gen-2\",.*fop=\"fsync\"}")
    awk -v sum="$sum" 'BEGIN { exit !(sum >= 0.06) }' || fail "three delays of 20 ms are $sum s"
done

stats "$MNT" --json >json || fail "stats --json"
python3 - json <<'END' || fail "the JSON is not what it should be"
import json, sys
all = json.load(open(sys.argv[1]))
assert all["measuring"] and all["process"]["threads"] > 0
by_name = {x["name"]: x for x in all["translators"]}
assert list(by_name) == ["delay-gen-2", 'ro{t=,}é', "posix"]
write = by_name['ro{t=,}é']["fops"]["writev"]
assert write["count"] == 3 and write["whole"]["sum"] >= write["children"]["sum"]
assert abs(write["whole"]["sum"] - write["own"]["sum"] - write["children"]["sum"]) <= 3
assert sum(count for low, high, count in write["whole"]["buckets"]) == 3
assert by_name["posix"]["fops"]["lookup"]["errors"]["ENOENT"] > 0
END

drawn=$(stats "$MNT" --histogram delay-gen-2.fsync) || fail "stats --histogram"
expect_match "a drawing" '^delay-gen-2.fsync \(debug/delay-gen\): 3 answers, 0 failed$' "$drawn"
expect_match "a bar" '^ +[0-9.]+ms \|[█#]+ [123]$' "$drawn"
ln "$MNT/file" "$MNT/link"
expect_match "a single answer" '^posix.link \(storage/posix\): 1 answer, 0 failed$' \
    "$(stats "$MNT" --histogram posix.link)"
expect_match "all" '^posix.writev ' "$(stats "$MNT" --histogram)"
expect_no_match "one translator" '^delay' "$(stats "$MNT" --histogram posix)"

# Signals and options.
run=${XDG_RUNTIME_DIR:-/run}
[ "$(id -u)" != 0 ] || run=/run
kill -USR2 "$DAEMON"
wait_until "grep -q 'metrics written to' '$LOG'"
file=$(sed -n "s/.*metrics written to '\([^']*\)'.*/\1/p" "$LOG")
expect "the file of SIGUSR2" "$run/windlass/windlass.$DAEMON.metrics 600" \
    "$file $(stat -c %a "$file")"
python3 "$SOURCE_DIR/tests/mount/live/openmetrics.py" <"$file" >/dev/null ||
    fail "'$file' is no OpenMetrics"
rm "$file"

expect_match "off" '^measuring is off; what was counted stays$' "$(stats "$MNT" --off)"
before=$(count posix writev)
echo hello >"$MNT/file"
expect "nothing is counted while it is off" "$before" "$(count posix writev)"

# What is wrong.
expect_error "there is no translator 'posx'; did you mean 'posix'\?" stats "$MNT" --histogram posx
expect_error "there is no translator 'nosuch'; there are .*posix" stats "$MNT" --histogram nosuch
expect_error "there is no operation 'wrtev'; did you mean 'writev'\?" stats "$MNT" --histogram \
    posix.wrtev
expect_error "there is no operation 'chmod'; did you mean 'setattr'\?" stats "$MNT" --histogram \
    posix.chmod
said=$(stats "$MNT" --histogram posix.nosuch 2>&1)
expect_no_match "what has nothing to do with a wrong name" "measuring is off" "$said"
expect_match "GlusterFS's name" '^posix.writev ' "$(stats "$MNT" --histogram posix.write)"
expect_error "'posix' was not asked for zerofill while it was measured" stats "$MNT" --histogram \
    posix.zerofill
expect_error "is not a mount point" stats "$BACK"
expect_error "only one of" stats "$MNT" --json --on
expect_error "which mount point" stats
stats "$MNT" more >/dev/null 2>&1
expect "the status of a wrong command line" 64 $?
unmount

mount_volfile "$VOL" -o measure-latency
ls "$MNT" >/dev/null
[ "$(count posix opendir)" -ge 1 ] || fail "the mount option doesn't start it"
