#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Requests that race with unlink and rename get no strange errors, and leave the mount showing what
# the directory holds.
# builds: tsan debug
. "$(dirname "$0")/../lib.sh"

seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
echo "SEED=$seed"

list () {
    (cd "$1" && find . -printf '%P %y %m %s %i %l\n' | sort)
}

for config in "handles=auto --entry-timeout=1" "handles=descriptor --entry-timeout=0" \
    "handles=descriptor --kernel-writeback-cache=on" "gfid=derived --direct-io-mode=on"; do
    POSIX_OPTIONS="${config% *} descriptor-cache=3" stack encryption/rot-13
    mount_volfile "$VOL" "${config#* }"
    "$PROGRAMS/race" "$MNT" "$seed" 400 >out ||
        fail "with $config and seed $seed: $(sort out | uniq -c)"
    sync -f "$MNT"
    # Another name or time may be cached for a second.
    expect "the names, and no more" "$(list "$BACK" | cut -d' ' -f1)" \
        "$(list "$MNT" | cut -d' ' -f1)"
    wait_until "[ \"\$(list '$BACK')\" = \"\$(list '$MNT')\" ]"
    find "$MNT" -type f -exec cat {} + >/dev/null ||
        fail "can't read all files with $config and seed $seed"
    expect_no_match "the log with $config" ' [CE] \[' "$(cat "$LOG")"
    chmod -R u+rwx "$MNT"
    rm -rf "${MNT:?}"/*
    expect "what is left" "" "$(ls -A "$BACK")"
    unmount
done
