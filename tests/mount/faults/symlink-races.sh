#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user that may write to the directory behind a mount cannot lead the daemon out of it with
# symbolic links, nor have it open a pipe or a device, whatever changes between two of the daemon's
# steps.
# builds: debug
# longer
. "$(dirname "$0")/../lib.sh"

# A link leads outside from the directory, but nowhere from the mount: only the daemon could lead a
# caller there.
prepare () {
    rm -rf "$BACK" outside
    mkdir -p "$BACK/dir" outside
    echo outside >outside/secret
    echo outside >outside/file
    : >outside/victim
    chmod 600 outside/victim
    echo inside >"$BACK/dir/secret"
    echo inside >"$BACK/file"
    ln -s ../outside "$BACK/to-outside"
    ln -s ../outside/file "$BACK/to-file"
    mkfifo "$BACK/fifo"
    mknod "$BACK/null" c 1 3 2>/dev/null || mkfifo "$BACK/null"
}

MNT=$TEST_DIR/somewhere/else/mnt
mkdir -p "$MNT"
for options in "handles=auto --entry-timeout=1" \
    "handles=auto --entry-timeout=0 --attribute-timeout=0" \
    "handles=descriptor --entry-timeout=0"; do
    prepare
    before=$(cd outside && find . -printf '%P %m %s\n' | sort)
    POSIX_OPTIONS="${options%% *} descriptor-cache=4" stack
    # shellcheck disable=SC2086
    mount_volfile "$VOL" ${options#* }
    said=$(timeout 60 "$PROGRAMS/swap" "$BACK" "$MNT" "$(amount 150 700)") ||
        fail "with $options, exit status $?: $said"
    expect_match "what is inside is reached, with $options" '^inside: [1-9]' "$said"
    expect "what is outside, with $options" "$before" \
        "$(cd outside && find . -printf '%P %m %s\n' | sort)"
    unmount
done

# The kernel follows a link on the caller's side, with his rights, as in any file system.
prepare
stack
mount_volfile "$VOL"
ln -s "$TEST_DIR/outside/secret" "$BACK/absolute"
expect "an absolute link" outside "$(cat "$MNT/absolute")"
chmod 700 outside
if [ "$(id -u)" = 0 ]; then
    expect_error 'Permission denied' setpriv --reuid 1001 --regid 1001 --clear-groups \
        cat "$MNT/absolute"
fi
