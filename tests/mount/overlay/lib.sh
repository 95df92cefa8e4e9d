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

# Writes the program works.py MOUNT NUMBER: until the file `stop` is there it appends lines to a file
# that it keeps open, and makes, renames and removes others. counted-NUMBER then has the lines.
make_works () {
cat >works.py <<'EOF_PY'
import os, sys, time
path = "%s/work-%s" % (sys.argv[1], sys.argv[2])
end = time.time() + 60
n = 0
with open(path, "w") as file:
    while not os.path.exists("stop") and time.time() < end:
        file.write("%d\n" % n)
        file.flush()
        n += 1
        with open(path + ".new", "w") as other:
            other.write(str(n))
        os.rename(path + ".new", path + ".moved")
        with open(path + ".moved") as other:
            assert other.read() == str(n)
        os.mkdir(path + ".dir")
        with open(path + ".dir/in", "w") as other:
            other.write(str(n))
        with open(path + ".dir/in") as other:
            assert other.read() == str(n)
        os.unlink(path + ".dir/in")
        os.rmdir(path + ".dir")
with open("counted-" + sys.argv[2], "w") as file:
    file.write(str(n))
EOF_PY
}
