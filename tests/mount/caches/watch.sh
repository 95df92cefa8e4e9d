#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# With storage/posix's `watch` a mount shows at once what other processes change in the directory,
# though the kernel would trust its caches for an hour; and changes through the mount itself cause
# no new lookup.
# builds: debug tsan
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/watch-lib.sh"
need_root
need_command python3 setfacl

for way in filesystem inodes; do
    rm -rf "${BACK:?}"/*
    POSIX_OPTIONS="watch=$way" stack
    mount_volfile "$VOL" "${HOUR[@]}"
    expect_match "the log" "what others change in '$BACK' is seen at once: .* watched" \
        "$(cat "$LOG")"
    expect_match "windlass explain" "changes? in the directory is seen at once: .* \(watch\)" \
        "$("$WINDLASS" explain "$MNT")"
    expect "the way" "$way" "$(counter watch)"
    sees_changes
    setfacl -m u:65534:r "$BACK/d/f"
    sees "an ACL" "getfacl -cp '$MNT/d/f' | grep -c nobody" 1

    # Closed to all but root, and changed by another process: the daemon acted as the caller when it
    # saw it first.
    install -m 600 /dev/null "$BACK/closed"
    user stat "$MNT/closed" >/dev/null
    expect "a closed file" 0 "$(stat -c %s "$MNT/closed")"
    echo x >"$BACK/closed"
    sees "a file that the first caller couldn't read" "cat '$MNT/closed'" x

    # Changes through the mount are known, and cause no notification.
    told=''
    until [ "$(counter watch-told)" = "$told" ]; do # nothing of what was before is still to come
        told=$(counter watch-told)
        sleep 0.3
    done
    mkdir "$MNT/own"
    for i in {1..50}; do echo "$i" >"$MNT/own/$i"; done
    tar cf "$MNT/own/tar" -C "$MNT/own" {1..50}
    mv "$MNT/own/1" "$MNT/own/one"
    rm "$MNT/own/2"
    wait_until '[ "$(counter watch-own)" -gt 100 ]'
    expect "told of what went through the mount" "$told" "$(counter watch-told)"
    unmount
done

# The other way round it isn't seen: the test can tell.
rm -rf "${BACK:?}"/*
stack
mount_volfile "$VOL" "${HOUR[@]}"
echo one >"$BACK/f"
expect "the file" one "$(cat "$MNT/f")"
echo two >"$BACK/f"
expect "what the kernel believes, unwatched" one "$(cat "$MNT/f")"
expect "the way" off "$(counter watch)"
unmount

POSIX_OPTIONS="watch=always" stack
expect_error "test.vol:4:.*watch.*off.*auto.*filesystem.*inodes" "$WINDLASS" -f "$VOL" "$MNT"
