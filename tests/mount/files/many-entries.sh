#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A directory of 10,000 entries, or 100,000: all are listed, once each, with and without attributes,
# and all can be removed.
# longer
. "$(dirname "$0")/../lib.sh"

n=$(amount 10000 100000)
mkdir "$BACK/many"
(cd "$BACK/many" && seq -f 'entry-%06g' $n | xargs touch)
stack
mount_volfile "$VOL"
expect "the names" "$n" "$(find "$MNT/many" -mindepth 1 -printf '%f\n' | sort -u | wc -l)"
expect "and no name twice" "$n" "$(ls -f "$MNT/many" | grep -c '^entry-')"
expect "with attributes" "$n" "$(ls -fl "$MNT/many" | grep -c '^-rw-.* entry-')"

# Made through the mount, and removed while others list them.
mkdir "$MNT/made"
(cd "$MNT/made" && seq -f 'new-%g' 5000 | xargs touch)
expect "what is in the directory" 5000 "$(ls -f "$BACK/made" | grep -c new)"
find "$MNT/made" -type f -printf '%p\n' >listed &
rm -r "$MNT/made" || fail "can't remove it"
wait
expect "what is left" many "$(ls "$BACK")"
is_running "$DAEMON" || fail "the daemon is gone"
