#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# When the file system behind is full, writers get the error, old data stays, and with room again
# all goes on.
# builds: debug
. "$(dirname "$0")/../lib.sh"
need_root
mount -t tmpfs -o size=2m none "$BACK" || skip "needs to mount a tmpfs"

for options in --kernel-writeback-cache=off --direct-io-mode=on; do
    stack encryption/rot-13
    mount_volfile "$VOL" $options
    echo kept >"$MNT/kept"
    expect_error 'No space left' dd if=/dev/zero of="$MNT/big" bs=64k count=100
    expect_error 'No space left' dd if=/dev/zero of="$MNT/more" bs=4k count=1
    expect "what was there" kept "$(cat "$MNT/kept")"
    expect "what there is left, here and there" "$(stat -f -c %f "$BACK")" "$(stat -f -c %f "$MNT")"
    expect_error 'No space left' fallocate -l 10M "$MNT/kept"
    rm "$MNT/big"
    # The kernel forgets it later than rm returns.
    wait_until '[ "$(stat -f -c %f "$BACK")" -gt 200 ]'
    expect_ok dd if=/dev/zero of="$MNT/more" bs=64k count=10
    expect "the size then" 655360 "$(stat -c %s "$BACK/more")"
    rm "$MNT/more" "$MNT/kept"
    unmount
done

# With the writeback cache an error comes with fsync or close, not never.
mount_volfile "$VOL" --kernel-writeback-cache=on
expect_error 'No space left' dd if=/dev/zero of="$MNT/big" bs=64k count=100 conv=fsync
rm "$MNT/big"

# Room that is kept free.
unmount
POSIX_OPTIONS=reserve=50% stack
mount_volfile "$VOL"
expect_ok dd if=/dev/zero of="$MNT/half" bs=64k count=10
truncate -s 1900K "$BACK/fill" && fallocate -l 900K "$BACK/fill"
wait_until "! dd if=/dev/zero of='$MNT/over' bs=64k count=1 2>/dev/null"
expect_ok rm "$MNT/half"
is_running "$DAEMON" || fail "the daemon is gone"
