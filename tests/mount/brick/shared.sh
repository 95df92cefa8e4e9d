#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Two clients of a brick: the server tells each what the other has changed, and every cache drops
# it, however long it may keep it. So it is after a time without a connection.
. "$(dirname "$0")/lib.sh"

brick one
brick_volfile one
cp "$VOL" other.vol
below=one
for cache in md-cache quick-read io-cache nl-cache; do
    case $cache in
    md-cache) option='option md-cache-timeout 600' ;;
    nl-cache) option='option nl-cache-timeout 600' ;;
    *) option='' ;;
    esac
    printf 'volume %s\n    type performance/%s\n    %s\n    subvolumes %s\nend-volume\n' $cache \
        $cache "$option" $below >>"$VOL"
    below=$cache
done
mount_volfile "$VOL" --attribute-timeout=600 --entry-timeout=600
mkdir other
"$WINDLASS" -f other.vol -l other.log --io-uring=off other || fail "the other mount failed"

echo before >"$MNT/file"
mkdir "$MNT/directory"
touch "$MNT/directory/old"

# Looked at, so that all is in the caches.
look () {
    cat "$MNT/file" && stat -c '%a %s' "$MNT/file" && ls "$MNT/directory" &&
        stat "$MNT/directory/new" 2>/dev/null
}

look >/dev/null
echo after, and longer >other/file
wait_until "[ '$(cat other/file)' = \"\$(cat '$MNT/file')\" ]"
look >/dev/null
printf AFTER | dd of=other/file conv=notrunc status=none
wait_until "[ '$(cat other/file)' = \"\$(cat '$MNT/file')\" ]"
look >/dev/null
chmod 600 other/file
wait_until "[ \"\$(stat -c %a '$MNT/file')\" = 600 ]"
look >/dev/null
touch other/directory/new
wait_until "[ \"\$(ls '$MNT/directory' | paste -sd' ')\" = 'new old' ] &&
    [ -e '$MNT/directory/new' ]"
look >/dev/null
rm other/directory/old
wait_until "[ \"\$(ls '$MNT/directory')\" = new ] && [ ! -e '$MNT/directory/old' ]"
look >/dev/null
mv other/directory/new other/directory/newer
wait_until "[ -e '$MNT/directory/newer' ] && [ ! -e '$MNT/directory/new' ]"
touch other/kept && ln other/kept other/directory/one && ln other/kept other/directory/two
wait_until "[ -e '$MNT/directory/one' ] && [ -e '$MNT/directory/two' ]"
rm other/directory/one other/directory/two
wait_until "[ ! -e '$MNT/directory/one' ] && [ ! -e '$MNT/directory/two' ]"

# What changes while there is no connection is found as well.
look >/dev/null
brick_kill one
wait_until "grep -q 'lost the connection' '$LOG'"
brick_start one
wait_until "echo meanwhile >other/file" 2>/dev/null
wait_until "[ meanwhile = \"\$(cat '$MNT/file')\" ]" 2>/dev/null
umount other
unmount
