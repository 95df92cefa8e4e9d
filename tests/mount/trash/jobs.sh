#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A shorter `settle` holds at once, also for what was removed before. The making of entries is a job:
# windlass jobs shows it with its progress, and stops it; what it has not made is not lost. A command
# waits for it.
. "$(dirname "$0")/lib.sh"
need_fuse

# Each entry takes a fifth of a second, since its information file is made with create.
stack debug/delay-gen,delay-percentage=100%,delay-duration=200000,enable=create \
    features/trash,settle=1h
mount_volfile "$VOL"
mkdir "$MNT/dir"
for i in {1..20}; do
    echo "$i" >"$BACK/dir/$i"
done
rm "$MNT"/dir/*
sed -i 's/settle "1h"/settle "10ms"/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"

jobs_list () { "$WINDLASS" jobs list "$MNT" "$@"; }
wait_until "jobs_list | grep -Eq 'settle .*, [1-9][0-9]* of [0-9]+ names'"
expect_match "the job" "^job [0-9]+: settle '/.windlass-trash' in 'trash-2', for .*, pace 100 %" \
    "$(jobs_list | grep settle)"
expect_match "in .meta" "settle '/.windlass-trash'" "$(cat "$MNT/.meta/jobs")"
number=$(jobs_list | sed -n 's/^job \([0-9]*\): settle.*/\1/p')
expect_ok "$WINDLASS" jobs stop "$MNT" "$number"
wait_until '! jobs_list | grep -q "^job '"$number"':"'
made=$(entries "$UID" | wc -w)
[ "$made" -lt 20 ] || fail "the job was not stopped"

# The end makes the rest.
unmount
expect "entries" 20 "$(ls "$BACK/.Trash-$UID/files" | wc -l)"

# A command that comes while entries are made waits for all of them.
mount_volfile "$VOL"
touch "$MNT"/dir/{a,b,c,d,e,f}
rm "$MNT"/dir/*
wait_until 'jobs_list | grep -q settle'
expect "list" 26 "$("$WINDLASS" trash list "$MNT" | wc -l)"
