#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Two processes share a mapped file, and what they write reaches the directory.
# builds: debug
. "$(dirname "$0")/../lib.sh"

for options in --kernel-writeback-cache=off --kernel-writeback-cache=on --direct-io-mode=on; do
    stack encryption/rot-13
    mount_volfile "$VOL" $options
    : >"$MNT/file"
    # Before 6.6 the kernel shares no mappings of what goes past its page cache.
    if [ "$options" = --direct-io-mode=on ] &&
        [ "$(printf '6.6\n%s\n' "$(uname -r)" | sort -V | head -n 1)" != 6.6 ]; then
        unmount
        continue
    fi
    expect "the sum with $options" "200000 200000" "$("$PROGRAMS/mapped" "$MNT/file")"
    unmount
    # The bytes of 200000 are no letters, so rot-13 leaves them.
    expect "the sum in the directory" 200000 "$(od -An -j8192 -N8 -td8 "$BACK/file" | tr -d ' ')"
done
