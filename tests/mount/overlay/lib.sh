# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests of cluster/overlay. A test begins with
#
#   . "$(dirname "$0")/lib.sh"
#   overlay_volfile              # $VOL: a view of $BACK, whose changes lie in $UPPER

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
UPPER=$TEST_DIR/changes

# overlay_volfile [OPTION VALUE]: the option is the overlay's.
overlay_volfile () {
    cat >"$VOL" <<EOF
volume changes
    type storage/posix
    option directory "$UPPER"
end-volume
volume lower
    type storage/posix
    option directory "$BACK"
end-volume
volume overlay
    type cluster/overlay
    ${1+option $*}
    subvolumes changes lower
end-volume
EOF
}

# What was removed leaves the work directory in the background.
work_is_clean () {
    [ "$(ls -A "$UPPER/work" | xargs)" = "index lock records" ]
}

overlay () {
    "$WINDLASS" overlay "$@"
}

# changes [PATH...]: of the mount, as letters and paths.
changes () {
    overlay diff --name-status "$MNT" "$@" | sort
}
