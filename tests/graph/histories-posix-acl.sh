#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories of a user other than root, whose rights system/posix-acl checks: alone, twice,
# over and below others.
# longer
. "$(dirname "$0")/../mount/lib.sh"
need_root
need_command setpriv

graph () { # NAME TYPE...: a volfile of these, from the bottom up
    local name=$1 below=posix number=0 type
    shift
    {
        printf 'volume posix\n    type storage/posix\n    option directory /nowhere\nend-volume\n'
        for type in "$@"; do
            number=$((number + 1))
            printf 'volume v%d\n    type %s\n    subvolumes %s\nend-volume\n' $number "$type" $below
            below=v$number
        done
    } >"$TEST_DIR/$name.vol"
}

# As a user that may only read the build, wherever it is.
run () { # NAME OPTION...
    setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=+dac_read_search \
        --ambient-caps=+dac_read_search \
        "$WINDLASS" conform "$TEST_DIR/$1.vol" --case history -d "$TEST_DIR/user" "${@:2}"
}

mkdir -m 777 user
graph alone system/posix-acl
graph twice system/posix-acl system/posix-acl
graph over performance/write-behind encryption/rot-13 system/posix-acl
graph below system/posix-acl encryption/rot-13 performance/write-behind
for name in alone twice over below; do
    run $name --seed 1 --histories "$(amount 3 15)" || fail "$name does not pass"
    run $name --seed 2 --histories "$(amount 3 15)" --faults 50 ||
        fail "$name does not pass with errors"
done
