#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A directory that is listed again within half a second is answered with names alone: the kernel
# still has the attributes. The names are those of storage.
. "$(dirname "$0")/../lib.sh"

stack
sed -i 's|type storage/posix|&\n    option log-level TRACE|' "$VOL"
mkdir "$BACK/dir"
for i in {1..20}; do
    echo "$i" >"$BACK/dir/file$i"
done
mount_volfile "$VOL"

# How many listings that began so far asked storage for attributes.
with_attributes () {
    grep -c 'readdirp fuse -> posix: .*offset=0$' "$LOG"
}
milliseconds () {
    echo $(($(date +%s%N) / 1000000))
}

# A machine that is busy may take longer than that.
for _ in {1..20}; do
    sleep 1.1 # the kernel has no attributes of the files then
    before=$(with_attributes) begin=$(milliseconds)
    first=$(ls -l "$MNT/dir")
    expect "listings with attributes" $((before + 1)) "$(with_attributes)"
    echo new >"$BACK/dir/new"
    second=$(ls -l "$MNT/dir")
    took=$(($(milliseconds) - begin))
    [ "$took" -ge 400 ] || break
    rm "$BACK/dir/new"
done
[ "$took" -lt 400 ] || fail "two listings took more than 400 ms, 20 times"
expect "listings with attributes, of the two" $((before + 1)) "$(with_attributes)"
expect "the names at first" "$(seq -f 'file%g' 20 | sort)" \
    "$(awk 'NR > 1 { print $NF }' <<<"$first" | sort)"
expect "the same, and the new name" "$(LC_ALL=C ls -l "$BACK/dir" | tail -n +2 | sort)" \
    "$(tail -n +2 <<<"$second" | sort)"

sleep 1.1
ls -l "$MNT/dir" >/dev/null
expect "listings with attributes, a second later" $((before + 2)) "$(with_attributes)"
unmount

# Where the kernel asks for names alone, caches above storage do not ask for attributes either.
stack performance/md-cache
sed -i 's|type storage/posix|&\n    option log-level TRACE|' "$VOL"
mount_volfile "$VOL" --use-readdirp=no
: >"$LOG"
expect "the names" 21 "$(ls "$MNT/dir" | wc -l)"
expect_match "listings" ' readdir [^ ]* -> posix: ' "$(cat "$LOG")"
expect_no_match "listings with attributes" ' readdirp [^ ]* -> posix: ' "$(cat "$LOG")"
unmount

stack
sed -i 's|type storage/posix|&\n    option log-level TRACE|' "$VOL"
# Where the kernel keeps no attributes, each listing has them.
mount_volfile "$VOL" --attribute-timeout=0
before=$(with_attributes)
ls -l "$MNT/dir" >/dev/null
ls -l "$MNT/dir" >/dev/null
expect "listings with attributes" $((before + 2)) "$(with_attributes)"
unmount
