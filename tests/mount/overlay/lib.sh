# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests of cluster/overlay. A test begins with
#
#   . "$(dirname "$0")/lib.sh"
#   overlay_volfile              # $VOL: a view of $BACK, whose changes lie in $UPPER

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
UPPER=$TEST_DIR/changes

# layered NAME=DIRECTORY...: prints a view; the first volume gets the changes.
layered () {
    local layer
    for layer; do
        printf 'volume %s\n    type storage/posix\n    option directory "%s"\nend-volume\n' \
            "${layer%%=*}" "${layer#*=}"
    done
    printf 'volume overlay\n    type cluster/overlay\n    subvolumes %s\nend-volume\n' "${*%%=*}"
}

# overlay_volfile [OPTION VALUE]: the option is the overlay's.
overlay_volfile () {
    layered "changes=$UPPER" "lower=$BACK" | sed "/type cluster/a\\    ${1+option $*}" >"$VOL"
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
