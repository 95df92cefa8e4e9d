#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A heal is a job: it is listed with its progress, can be stopped and begun again, rests by its pace,
# and survives a move to another graph.
. "$(dirname "$0")/lib.sh"

# c1 gets debug/fault above its client, so that its writes can be kept back.
bricks_begin
volfile () {
    replicate_volfile data-self-heal-window-size=1 "$@"
    cp "$VOL" plain.vol
    sed -i 's/^volume c1$/volume c1-client/' "$VOL"
    sed -i "s/^volume r$/volume c1\n    type debug\/fault\n    subvolumes c1-client\nend-volume\n&/" \
        "$VOL"
}
jobs () {
    "$WINDLASS" jobs list "$MNT" "$@"
}
rules () {
    echo "$*" | "$WINDLASS" fault "$MNT" - || fail "the rule"
}
SIZE=4194304
miss () {
    wait_until "! marks c0 | grep -q dirty"
    brick_kill c1
    wait_until "'$WINDLASS' explain '$MNT' | grep -q 'not there: c1'"
    head -c $SIZE /dev/urandom >"$MNT/big"
    wait_until "! marks c0 | grep -q dirty"
    brick_start c1
    wait_until "! '$WINDLASS' explain '$MNT' | grep -q 'not there: c1'"
}

volfile
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
expect "no jobs" "" "$(jobs)"
expect "no jobs, for programs" '{"jobs": []}' "$(jobs --json)"
head -c $SIZE /dev/zero >"$MNT/big"
miss

# The same as a command of the translator, which names the volume.
expect_error "volume 'r' .*|no volume or type 'elsewhere'" \
    "$WINDLASS" replicate heal "$MNT" big --volume elsewhere
expect_error 'heal needs PATH' "$WINDLASS" replicate heal "$MNT"

# Nine pieces are healed, the tenth hangs.
rules 'writev after 9 times 1 -> hang name stuck'
"$WINDLASS" heal "$MNT" big >heal.out 2>&1 &
heal=$!
wait_until "jobs | grep -q ' $((9 * 131072)) of $SIZE bytes'"
line=$(jobs)
expect_match "the job" "^job [1-9][0-9]*: heal '/big' in 'r', for [0-9.]+ s, [^;]*; works$" "$line"
number=${line#job }
number=${number%%:*}
expect_match "for programs" \
    "\"number\": $number, \"name\": \"heal\", \"about\": \"/big\", \"translator\": \"r\"" \
    "$(jobs --json)"
expect_match "inflight" "job $number: heal" "$("$WINDLASS" inflight "$MNT")"
expect_match "inflight, for programs" "\"jobs\": \[{\"number\": $number" \
    "$("$WINDLASS" inflight "$MNT" --json)"
expect_match "top" "jobs: 1" "$("$WINDLASS" top --batch --count 1 --interval 0.1 "$MNT")"
expect_match "counts" "jobs=1" "$("$WINDLASS" counts "$MNT")"
expect_match "a state dump" "job $number: heal" "$(cat "$("$WINDLASS" statedump "$MNT")")"

expect_error 'there is no job 77' "$WINDLASS" jobs stop "$MNT" 77
expect_error "'one' can't be understood" "$WINDLASS" jobs stop "$MNT" one
expect_ok "$WINDLASS" jobs stop "$MNT" "$number"
expect_match "a job that must stop" '; stops$' "$(jobs)"
expect_ok "$WINDLASS" fault "$MNT" --release stuck
wait $heal && fail "a stopped heal succeeded"
expect_match "the heal" 'the job was stopped' "$(cat heal.out)"
expect "no jobs" "" "$(jobs)"
marks c0 | grep -q 'big.*afr.c1' || fail "a stopped heal has cleared the counters"

# It goes on over a move to a graph without debug/fault.
rules 'writev -> delay 50ms'
"$WINDLASS" heal "$MNT" big >heal.out 2>&1 &
heal=$!
wait_until "jobs | grep -q ' of $SIZE bytes'"
cp plain.vol "$VOL"
expect_match "the move" 'moved to its new graph' "$("$WINDLASS" reload "$MNT")"
wait $heal || fail "the heal failed: $(cat heal.out)"
expect_match "the heal" 'data healed on c1' "$(cat heal.out)"
expect "nothing is left" "nothing to heal" "$("$WINDLASS" replicate heal "$MNT" "$MNT/big")"
expect_match "a missing path" 'No such file' "$("$WINDLASS" replicate heal "$MNT" none 2>&1)"
no_marks || fail "marks: $(marks)"
expect_equal_copies
unmount

# A background heal rests.
volfile data-self-heal=on background-self-heal-pace=1
sed -i '/^volume r$/,/^end-volume$/!b; /^end-volume$/a volume meta\n    type meta/meta\n    subvolumes r\nend-volume' \
    "$VOL"
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
miss
stat "$MNT/big" >/dev/null
wait_until "jobs | grep -q 'pace 1 %; rests'"
expect_match "in .meta" "heal '/big' in 'r'.*pace 1 %" "$(cat "$MNT/.meta/jobs")"
number=$(jobs --json | sed -n 's/.*"number": \([0-9]*\),.*/\1/p')
expect_ok "$WINDLASS" jobs stop "$MNT" "$number"
wait_until "[ -z \"\$(jobs)\" ]"
marks c0 | grep -q 'big.*afr.c1' || fail "a stopped heal has cleared the counters"
unmount
