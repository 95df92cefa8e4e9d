#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# .meta is closed to all but the owner of the mount and root, whatever descriptors they hold of it,
# also where the kernel checks nothing. No caller, root included, can change its names and
# attributes, or move anything out of it or into it.
# builds: debug
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv

echo text >"$BACK/f"
mkdir "$BACK/d"
chmod 777 "$BACK" "$BACK/d" "$BACK/f"
chmod 755 "$TEST_DIR"
stack

# Of what root tried, and then a user.
# shellcheck disable=SC2016
judge () {
    awk -F': ' '
        /^--- user/ { user = 1; next }
        { wanted = "" }
        !user { wanted = "EPERM|EXDEV" }
        $1 == "a handle for root" || $1 == "open by it" || $1 == "look at .meta" { wanted = "done" }
        $1 == "make a file without a name" { wanted = "EPERM|EOPNOTSUPP" }
        $1 == "write to what is read only" || $1 == "execute" { wanted = "EACCES" }
        # Linux 6.6 maps files that are read directly, which here have no size.
        $1 == "map" { wanted = "ENODEV|done" }
        $1 == "make room" { wanted = "EOPNOTSUPP" }
        $1 == "copy in" { wanted = "EINVAL" }
        $1 == "lock" { wanted = "done" }
        $1 == "seek data" { wanted = "EINVAL" }
        $1 == "ask for flags" { wanted = "ENOTTY" }
        $1 == "open as a directory" { wanted = "ENOTDIR" }
        user && wanted == "" { wanted = "EACCES" }
        $1 == "a file'"'"'s handle, change" { wanted = "EPERM|EXDEV|EACCES" }
        $1 == "a file'"'"'s handle, link" { wanted = "EPERM|EXDEV|EACCES" }
        $1 == "open by handle" { wanted = "EPERM" }
        $2 !~ "^(" wanted ")$" { print (user ? "user: " : "root: ") $0 ", not " wanted }
        END { if (NR < 50) print "only " NR " were tried" }' tried
}

for options in "" no_default_permissions; do
    mount_volfile "$VOL" ${options:+-o "$options"}
    "$PROGRAMS/meta" "$MNT" 1001 >tried
    expect "what could be done${options:+ with $options}" "" "$(judge)"
    expect "what is in the directory" "d f" "$(ls -A "$BACK" | xargs)"
    expect "a file that is the user's" text "$(cat "$MNT/f")"
    expect_no_match "the log" ' [CEM] \[' "$(cat "$LOG")"
    # The kernel stops asking for an operation once it was answered with ENOSYS.
    expect_ok flock "$MNT/f" true
    expect_ok setfattr -n user.a -v b "$MNT/f"
    setpriv --reuid 1001 --clear-groups \
        sh -c 'echo 9 >"$1/.meta/logging/loglevel"' sh "$MNT" 2>/dev/null &&
        fail "somebody else sets the level"
    expect "the level" 7 "$(cat "$MNT/.meta/logging/loglevel")"
    unmount
done

# Removing everything in the mount removes nothing of it.
mount_volfile "$VOL"
rm -rf "$MNT"/d "$MNT"/f "$MNT"/.meta 2>errors
expect_match "what rm says" 'Operation not permitted' "$(cat errors)"
expect "the directory" "" "$(ls -A "$BACK")"
expect "the level" 7 "$(cat "$MNT/.meta/logging/loglevel")"
unmount
