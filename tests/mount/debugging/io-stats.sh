#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# debug/io-stats: the counts equal what was done; a dump comes by setfattr, and from time to time;
# an interval ends with a dump alone; a name leads nowhere else; a caller other than root or the
# owner gets none.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"
need_root
need_command setfattr python3
RUN_DIR=/run/windlass
id=test-$$

dump () { # [KEY]: asks for one, and prints it
    setfattr -n "${1-trusted.io-stats-dump}" -v "$id" "$MNT" || fail "no dump: $(tail -n 3 "$LOG")"
    cat "$RUN_DIR/$id.$id"
    rm "$RUN_DIR/$id.$id"
}
counts () { # NAME <DUMP: calls and errors in both of its parts
    awk -v name="$1" '$1 == name { printf "%s/%s ", $2, $NF }'
}
python () { # EXPRESSION <JSON
    python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

stack "debug/io-stats,latency-measurement=on,unique-id=$id,volume-id=seven" encryption/rot-13 \
    debug/io-stats,unique-id=above-$id
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
for i in 1 2 3; do dd if=/dev/zero of="$MNT/file$i" bs=5000 count=1 2>/dev/null; done
mv "$MNT/file3" "$MNT/new
name"
for i in 1 2 3 4; do cat "$MNT/file1" >/dev/null; done
cat "$MNT/file2" "$MNT/missing" >/dev/null 2>&1
exec 7<"$MNT/file1"

# Reading ends no interval, for any user; a dump does, and both of the stack write one.
before=$("$WINDLASS" tell "$MNT" io-stats-1 stats)
kill -USR1 "$DAEMON"
wait_until "grep -q 'state dumped to' '$LOG'"
state=$(sed -n "s/.*state dumped to '\\(.*\\)'$/\\1/p" "$LOG")
expect_match "a state dump" '^cumulative-WRITE-hits=3$' "$(cat "$state")"
rm "$state"
expect_match "before any dump" '^=== Interval 0 stats ===$' "$before"
first=$(dump)
expect "the other's" 0600 "$(stat -c %04a "$RUN_DIR/$id.above-$id")"
expect "what the other counted" "3/0 3/0 " "$(counts WRITE <"$RUN_DIR/$id.above-$id")"
rm "$RUN_DIR/$id.above-$id"
expect "writes" "3/0 3/0 " "$(counts WRITE <<<"$first")"
expect "opens to read" "6/0 6/0 " "$(counts OPEN <<<"$first")"
expect_match "bytes" '^ *BytesWritten : 15000$' "$first"
expect_match "sizes" '^Write Count  : .* 3( |$)' "$first"
expect_match "a heading with the unit" \
    '^Fop +Call Count +Avg-Latency\(us\) +Min-Latency\(us\) +Max-Latency\(us\) +Errors$' "$first"
expect_match "latencies" '^WRITE +3 +[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{2} +0$' \
    "$first"
expect_match "open files" "^Current open fd's: 1 Max open fd's: [1-9]" "$first"
expect "the file that is opened most" "5 /file1" \
    "$(sed -n '/= Open file stats =/,/^$/d; /= Read file/,$d; /^[0-9]* .*\//p' <<<"$first" |
    head -n 1 | tr -s ' ')"
expect_match "a name of two lines" '/new\\x0aname$' "$first"
expect_match "throughput" '^20[0-9-]+ [0-9:]+ \+0000 +[0-9]+\.[0-9]{2}  /file1$' "$first"
second=$(dump)
rm -f "$RUN_DIR/$id.above-$id"
expect "writes of ever, and none since" "3/0 " "$(counts WRITE <<<"$second")"
expect_match "the next interval" '^=== Interval 1 stats ===$' "$second"
exec 7<&-

# JSON, of the other one too, which measures nothing.
json=$(dump "trusted.io-stats-${DAEMON}_json_dump")
rm -f "$RUN_DIR/$id.above-$id"
expect "its writes" "3 3 True" \
    "$(python '(lambda w: "%d %d %s" % (w["count"], w["latency_ns"]["count"],
        w["latency_ns"]["min"] > 0)) (d["cumulative"]["fops"]["WRITE"])' <<<"$json")"
expect "its names" "seven io-stats-1 True" \
    "$(python '"%s %s %s" % (d["volume_id"], d["volume"],
        "/new\nname" in [f["path"] for f in d["top"]["write"]])' <<<"$json")"
expect "without times" "False" "$("$WINDLASS" tell "$MNT" io-stats-3 json |
    python '"latency_ns" in d["cumulative"]["fops"]["WRITE"]')"

# Names that lead elsewhere, a user without the right to it, and no attribute stored.
for bad in ../x /../../tmp/x .. "$(printf 'x%.0s' {1..250})"; do
    expect_error 'Invalid argument|File name too long' setfattr -n trusted.io-stats-dump -v "$bad" \
        "$MNT"
done
expect_ok setfattr -n trusted.io-stats-dump -v "/tmp/$id x" "$MNT/file1"
expect_match "what it is called" 'tmp' "$(ls "$RUN_DIR/-tmp-$id-x.$id")"
rm -f "$RUN_DIR/-tmp-$id-x".*
ln -s /etc/passwd "$RUN_DIR/$id.$id"
expect_error 'Operation not permitted' setfattr -n trusted.io-stats-dump -v "$id" "$MNT"
rm -f "$RUN_DIR/$id.$id" "$RUN_DIR/$id.above-$id"
chmod 777 "$BACK"
touch "$BACK/theirs"
chown 65534 "$BACK/theirs"
[ "$(id -u)" != 0 ] || expect_error 'Operation not permitted' user setfattr -n user.io-stats-dump \
    -v "$id" "$MNT/theirs"
expect "what is stored" "" "$(getfattr -h -d -m . "$BACK" "$BACK/file1" "$BACK/theirs" 2>/dev/null |
    grep io-stats)"

# From time to time; and single requests. Both end as they began.
sed -i "s/option unique-id \"$id\"/&\\n    option ios-dump-interval 1\\n    option ios-sample-interval 2/" \
    "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
cat "$MNT"/file* >/dev/null
wait_until "[ -s '$RUN_DIR/windlass_$id.dump' -a -s '$RUN_DIR/windlass_$id.samples' ]"
expect "a periodic one" True \
    "$(python 'd["interval"]["number"] >= 3' <"$RUN_DIR/windlass_$id.dump")"
expect "a table" "time,fop,latency_us,op_ret,op_errno,uid,gid,pid" \
    "$(head -n 1 "$RUN_DIR/windlass_$id.samples")"
sed -i '/ios-dump-interval/d; s/ios-sample-interval 2/dump-fd-stats on/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
cat "$MNT/file2" >/dev/null
wait_until "grep -q 'io-stats-1:   *Filename : /file2' '$LOG'"
rm -f "$RUN_DIR/windlass_$id".*
wait_until "sleep 1.2; [ ! -e '$RUN_DIR/windlass_$id.dump' ] || ! rm '$RUN_DIR/windlass_$id.dump'"
rm -f "$RUN_DIR/windlass_$id.samples" # of one that was being written at the reload
unmount

# The thread that served another caller last has that caller's ids; the dump is the daemon's file
# all the same.
mount_volfile "$VOL" --reader-thread-count 1
[ "$(id -u)" != 0 ] || user ls "$MNT" >/dev/null || fail "others can't look at the mount"
setfattr -n trusted.io-stats-dump -v "$id" "$MNT" ||
    fail "no dump after somebody else's request: $(tail -n 3 "$LOG")"
expect "whose it is" "0 600" "$(stat -c '%u %a' "$RUN_DIR/$id.$id")"
rm -f "$RUN_DIR/$id".*
daemon=$DAEMON
unmount
expect "what it leaves" "" "$(find "$RUN_DIR" -name "*$id*" -o -name ".new.$daemon*")"

# The numbers go on in the next graph, and an open file is counted once.
stack debug/io-stats
mount_volfile "$VOL"
echo text >"$MNT/kept"
exec 7>>"$MNT/kept"
stats () { # KEY
    "$WINDLASS" tell "$MNT" io-stats-1 stats | sed -n "s/^$1//p" | tr -s ' '
}
for top in pass errno; do
    opens=$(stats OPEN)
    stack debug/io-stats test/$top
    expect_match "a reload" '^the mount has moved' "$("$WINDLASS" reload "$MNT")"
    expect "opens after the reload" "$opens" "$(stats OPEN)"
    expect_match "open files after the reload" '1 Max' "$(stats "Current open fd's:")"
done
exec 7>&-
unmount
