#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a power cut takes and leaves on a mount: a store that keeps its promises loses nothing that
# it confirmed; stores that leave out an fsync are caught, and so is a cut that would do nothing.
# builds: release debug tsan
# longer
. "$(dirname "$0")/../lib.sh"
need_fuse
RANDOM=${POWER_CUT_SEED:=$(amount 20261124 $$)}
echo "POWER_CUT_SEED=$POWER_CUT_SEED"

# power_cut: cuts, and waits until the daemon is gone; what it says is in $lost.
power_cut () {
    lost=$("$WINDLASS" power-cut "$MNT" 2>&1) || fail "no power cut: $lost"
    wait_until "! is_running $DAEMON"
    wait_until '! is_mounted'
    DAEMON=''
}

# --- one of each ----------------------------------------------------------------------------------

stack debug/power-cut,seed=1
mount_volfile "$VOL"
mkdir "$MNT/dir"
echo durable >"$MNT/dir/synced"
sync "$MNT/dir/synced" "$MNT/dir" "$MNT"
echo more >>"$MNT/dir/synced"
echo new >"$MNT/dir/unsynced"
sync "$MNT/dir/unsynced"
echo removed >"$MNT/kept"
sync "$MNT/kept" "$MNT"
exec 5<"$MNT/kept"
rm "$MNT/kept"
expect "no link is left" 0 "$(stat -L -c %h /proc/self/fd/5)"
expect "what is seen" dir "$(ls -A "$MNT")"
expect_error 'No such file' stat "$MNT/.windlass-power-cut"
expect_error 'not permitted' mkdir "$MNT/.windlass-power-cut"
expect_match "what would be lost" '^not durable: at most [1-9][0-9]* bytes in [1-9]' \
    "$("$WINDLASS" tell "$MNT" debug/power-cut status)"
power_cut
exec 5<&-
expect_match "what was lost" \
    '^the power is cut: lost [1-9][0-9]* bytes in 1 file, 2 names, attributes of 0 files; seed 1$' \
    "$lost"
expect_match "a name that is gone" '/dir/unsynced: the name is gone' "$lost"
expect_match "a name that is back" '/kept: the name is back' "$lost"
expect "what is there" "dir dir/synced kept" \
    "$(cd "$BACK" && find . -mindepth 1 -printf '%P\n' | sort | tr '\n' ' ' | sed 's/ $//')"
expect "what it holds" durable "$(cat "$BACK/dir/synced")"
expect "what came back" removed "$(cat "$BACK/kept")"

# Told that all is durable, and with the model that loses nothing, nothing is lost.
mount_volfile "$VOL"
echo all >"$MNT/all"
"$WINDLASS" tell "$MNT" debug/power-cut sync >/dev/null || fail "no sync"
power_cut
expect "after a sync" all "$(cat "$BACK/all")"
mount_volfile "$VOL" --xlator-option power-cut-1.model=nothing-lost
echo control >"$MNT/control"
power_cut
expect "what the control experiment keeps" control "$(cat "$BACK/control")"

# A reload of another shape makes nothing durable: also of a removed file, and of a directory that is
# gone.
rm -rf "${BACK:?}"/*
stack debug/power-cut,seed=1
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
mkdir "$MNT/dir" "$MNT/gone"
echo durable >"$MNT/dir/synced"
echo removed >"$MNT/kept"
sync "$MNT/dir/synced" "$MNT/kept" "$MNT/dir" "$MNT"
echo more >>"$MNT/dir/synced"
echo new >"$MNT/dir/unsynced"
rm "$MNT/kept"
rmdir "$MNT/gone"
status=$("$WINDLASS" tell "$MNT" debug/power-cut status)
expect_match "what would be lost" '^not durable: at most [1-9][0-9]* bytes in [1-9]' "$status"
for top in pass errno; do
    stack debug/power-cut,seed=1 test/$top
    expect_match "a reload" '^the mount has moved' "$("$WINDLASS" reload "$MNT" 2>&1)"
    expect "what would be lost after it" "$status" \
        "$("$WINDLASS" tell "$MNT" debug/power-cut status)"
done
echo later >"$MNT/dir/later"
power_cut
expect "what is there after reloads" "dir dir/synced gone kept" \
    "$(cd "$BACK" && find . -mindepth 1 -printf '%P\n' | sort | tr '\n' ' ' | sed 's/ $//')"
expect "what it holds" "durable removed" "$(cat "$BACK/dir/synced" "$BACK/kept" | tr '\n' ' ' |
    sed 's/ $//')"
expect_no_match "what the log tells of the new graphs" "can't find" "$(cat "$LOG")"

# --- a store --------------------------------------------------------------------------------------

# store VARIANT CUTS OPTIONS: cuts the power after some puts, or in the middle of one, at most CUTS
# times, until something confirmed is lost. $missing is what was lost; the number of an unfinished
# put is not used again.
store () {
    local variant=$1 cuts=$2 number=0 answer last
    stack "debug/power-cut$3"
    rm -rf "${BACK:?}"/*
    : >confirmed
    for ((cut = 0; cut < cuts; cut++)); do
        mount_volfile "$VOL" --xlator-option power-cut-1.seed=$RANDOM
        coproc exec "$PROGRAMS/kv" "$MNT" "$variant" 2>/dev/null
        store=$COPROC_PID
        exec 6<&"${COPROC[0]}" 7>&"${COPROC[1]}"
        last=$((RANDOM % 2 - 1))
        for ((i = RANDOM % 20; i > last; i--)); do
            echo "put key$number value$number" >&7
            [ $i = 0 ] || {
                read -r answer <&6 || fail "the store died"
                expect "a confirmation" "ok key$number" "$answer"
                echo "key$number value$number" >>confirmed
            }
            number=$((number + 1))
        done
        power_cut
        exec 6<&- 7>&-
        kill "$store" 2>/dev/null
        wait "$store" 2>/dev/null
        echo list | "$PROGRAMS/kv" "$BACK" | sort >there
        missing=$(sort confirmed | comm -23 - there)
        [ -z "$missing" ] || return 0
    done
}

for options in '' ,data=torn,sizes=early,names=random,metadata=random \
    ,model=ext4-ordered,journal-every=2; do
    store right "$(amount 4 8)" "$options"
    expect "what a store that keeps its promises lost with '$options'" '' "$missing"
done
for variant in no-fsync no-fsync-dir; do
    store $variant 60 ''
    [ -n "$missing" ] || fail "a store with $variant wasn't caught"
done
