#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A caller that may execute a program but not read it can run it, and cannot read it in any other
# way. A caller that may only read it cannot run it.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv
user test -x "$TEST_DIR" || skip "needs the test's folder in reach of user 65534"

# The user's attempts in DIR.
attempts () {
    cd "$1" || exit 1
    local mode
    for mode in 711 754 745 700 710 701 4711; do
        install -m $mode "$(type -P true)" program
        user sh -c ./program 2>/dev/null # setpriv itself still has root's capabilities
        echo "$mode: run: $?"
        user cat program >/dev/null 2>&1
        echo "$mode: read: $?"
        user sh -c '. ./program' >/dev/null 2>&1
        echo "$mode: read by a shell: $?"
        rm program
    done
    # Of a process that runs one: its program, memory and maps.
    install -m 711 "$(type -P sleep)" program
    setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'exec ./program 1000' &
    local pid=$!
    wait_until "[ \"\$(readlink /proc/$pid/exe)\" = '$PWD/program' ]"
    for part in exe mem maps environ map_files; do
        user head -c 1 "/proc/$pid/$part" >/dev/null 2>&1
        echo "$part of the process: $?"
    done
    kill -9 $pid
    wait $pid 2>/dev/null
    printf '#!/bin/sh\necho ran\n' >script
    chmod 711 script
    echo "a script: $(user sh -c ./script 2>&1 | grep -c ran)"
    rm program script
    cd "$TEST_DIR" || exit 1
}

mkdir bare
attempts bare >expected
grep -q '711: run: 0' expected && grep -q '711: read: 1' expected ||
    fail "the bare directory: $(cat expected)"
stack
for options in "" --kernel-writeback-cache=on --idmapped-mounts; do
    # shellcheck disable=SC2086
    mount_volfile "$VOL" $options
    attempts "$MNT" >got
    diff expected got || fail "it is otherwise on the bare directory ($options)"
    unmount
done

# There the kernel cannot keep a process's memory from a caller that may not read its program, so
# the program does not run.
mount_volfile "$VOL" -o no_default_permissions,allow_other
for mode in 711 754 745; do
    install -m $mode "$(type -P true)" "$MNT/here"
    user sh -c "$MNT/here" 2>/dev/null
    echo "$mode: $?"
    rm "$MNT/here"
done >got-here
expect "without default_permissions" "711: 126
754: 126
745: 0" "$(cat got-here)"
unmount
