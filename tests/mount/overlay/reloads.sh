#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Moves to other graphs while files of the lower are copied and changed, some of them through
# descriptors that were opened before: the view has all that was written, and the lower is as it
# was.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3
mkdir -p "$UPPER" "$BACK/dir"
overlay_volfile
cp "$VOL" short.vol
{
    cat short.vol
    printf 'volume trace\n    type debug/trace\n    subvolumes overlay\nend-volume\n'
} >long.vol
for i in $(seq 0 39); do
    { head -c 100000 /dev/zero | tr '\0' a; echo "file $i"; } >"$BACK/dir/file$i"
done
cp -a "$BACK" before
mount_volfile "$VOL"
expect_match "two daemons" "is in use by process $DAEMON on" \
    "$("$WINDLASS" -f short.vol -l second.log "$TEST_DIR" 2>&1)"

# Each writer has files of its own; it knows what they hold.
cat >load.py <<'EOF_PY'
import os, random, sys
root, over, me = sys.argv[1], sys.argv[2], int(sys.argv[3])
chance = random.Random(me)
names = [f'{root}/dir/file{i}' for i in range(40) if i % 4 == me]
held = {name: open(name, 'r+b', buffering=0) for name in names}
state = {name: os.pread(held[name].fileno(), 200000, 0) for name in names}
rounds = 0
while not os.path.exists(over) or rounds < 200:
    rounds += 1
    name = chance.choice(names)
    text, at = b'%06d\n' % rounds, chance.randrange(0, 90000)
    kind = chance.randrange(4)
    if kind == 0:      # the descriptor from before
        os.pwrite(held[name].fileno(), text, at)
    elif kind == 1:    # a new one
        with open(name, 'r+b', buffering=0) as file:
            os.pwrite(file.fileno(), text, at)
    elif kind == 2:    # another file of that name
        with open(name + '.new', 'wb') as file:
            file.write(state[name])
            file.seek(at)
            file.write(text)
        os.rename(name + '.new', name)
        held[name].close()
        held[name] = open(name, 'r+b', buffering=0)
    old = state[name]
    if kind < 3:
        state[name] = old[:at] + text + old[at + len(text):]
    with open(name, 'rb') as file:
        now = file.read()
    if now != state[name] or os.pread(held[name].fileno(), 200000, 0) != now:
        sys.exit(f'{name} after round {rounds} (kind {kind}) is not what was written')
EOF_PY
loads=()
for me in 0 1 2 3; do
    python3 load.py "$MNT" "$TEST_DIR/over" $me &
    loads+=($!)
done
for i in $(seq "$(amount 15 50)"); do
    cp long.vol "$VOL"
    expect_ok "$WINDLASS" reload "$MNT"
    cp short.vol "$VOL"
    expect_ok "$WINDLASS" reload "$MNT"
done
touch over
for load in "${loads[@]}"; do wait "$load" || fail "the load failed"; done
expect_match "two daemons" "is in use by process $DAEMON on" \
    "$("$WINDLASS" -f short.vol -l second.log "$TEST_DIR" 2>&1)"
wait_until '[ "$(ls -A "$UPPER/work" | xargs)" = "index lock records" ]'
unmount
diff -r before "$BACK" || fail "the lower has changed"
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
