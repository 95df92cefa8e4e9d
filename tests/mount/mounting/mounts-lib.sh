# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shared by the tests of what is mounted inside the mount.

echo bound >"$TEST_DIR/bound"

# inside: mounts on a directory and on a file of the mount
inside () {
    mount -t tmpfs inside "$MNT/d/sub" && mount --bind "$TEST_DIR/bound" "$MNT/d/f" ||
        fail "could not mount inside"
    (cd "$MNT/d/here" && exec sleep 600) &
    resident=$!
    wait_until '[ "$(readlink /proc/$resident/cwd)" = "$MNT/d/here" ]'
}

# stays WHEN
stays () {
    expect "what is mounted inside, $1" $'f\nsub' \
        "$(awk -v dir="$MNT/d/" 'index ($5, dir) == 1 { print substr ($5, length (dir) + 1) }' \
            /proc/self/mountinfo | sort)"
    expect "the working directory, $1" "$MNT/d/here" "$(readlink "/proc/$resident/cwd")"
}

# without: the end of both
without () {
    kill "$resident"
    wait "$resident" 2>/dev/null
    umount "$MNT/d/sub" "$MNT/d/f" || fail "not mounted any more"
}
