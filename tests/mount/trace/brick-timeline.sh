#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A timeline shows the calls to each brick: what the network and the brick took of an operation, and
# which brick was slow.
. "$(dirname "$0")/../brick/lib.sh"

# Changes go to both bricks; the second one is behind a relay that holds answers back.
brick one
brick two
brick_volfile one
mv "$VOL" one.vol
relay two
brick_volfile two
cat one.vol >>"$VOL"
printf 'volume both\n    type test/both\n    subvolumes one two\nend-volume\n' >>"$VOL"
mount_volfile "$VOL"
expect_ok "$WINDLASS" timeline start "$MNT"
tell_client delay 0.05
mkdir "$MNT/directory"
tell_client delay 0
"$WINDLASS" timeline stop "$MNT" -o out.json >said 2>&1 || fail "$(cat said)"

# took NAME: the microseconds of the line of that name in the request for mkdir
"$WINDLASS" timeline cat "$MNT" --text | sed -n '/: mkdir /,/^$/p' >mkdir
took () {
    sed -n "s/^ *[0-9.]* *\([0-9]*\)\.[0-9]* *$1.*/\1/p" mkdir
}
quick=$(took 'MKDIR 127.0.0.1:one') slow=$(took 'MKDIR 127.0.0.1:two') all=$(took 'both: mkdir = 0')
[ "$slow" -ge 50000 ] || fail "a brick that takes 50 ms to answer took $slow us: $(cat mkdir)"
[ "$quick" -lt "$slow" ] || fail "the quick brick took $quick us, the slow one $slow us"
[ $((quick + slow)) -le "$all" ] || fail "the calls took longer than the operation: $(cat mkdir)"
expect_match "the flame graph" 'both:mkdir;two:mkdir;MKDIR 127.0.0.1:two [0-9]+$' \
    "$("$WINDLASS" timeline cat "$MNT" --folded)"

# A track for each brick, with nothing else on it.
python3 - <<'EOF' || fail "the tracks"
import json
events = json.load(open("out.json"))["traceEvents"]
bricks = {event["pid"]: event["args"]["name"] for event in events
          if event["name"] == "process_name" and ":" in event["args"]["name"]}
assert sorted(bricks.values()) == ["127.0.0.1:one", "127.0.0.1:two"], bricks
for event in events:
    if event["ph"] == "X":
        assert event["name"].endswith(" " + bricks.get(event["pid"], "")) == (
            event["cat"] == "server"), event
EOF
expect_ok python3 "$SOURCE_DIR/tests/mount/trace/trace-events.py" out.json
unmount
