# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What tests of the units share. The script runs twice. First begin_inside starts a systemd, beside
# which the script runs again and goes on after that line. Both are then in one mount namespace,
# which stands for the machine's.
#
#   begin_inside system      systemd as process 1, and the journal
#   begin_inside user        systemd --user of user 65534, who is also whom the test runs as
#
#   $UNITS   the folder of units: systemctl daemon-reload after a change
#   $ETC     the folder of NAME.vol and NAME.conf

UNITS=$TEST_DIR/units
ETC=$TEST_DIR/etc/windlass
INIT=/lib/systemd/systemd

# The units of the build, with its paths and without the machine's.
make_units () {
    local target
    mkdir -p "$UNITS" "$ETC"
    for target in default sysinit basic shutdown umount final exit local-fs local-fs-pre \
        remote-fs network-online multi-user; do
        printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' "$target" \
            >"$UNITS/$target.target"
    done
    mkdir -p "$UNITS/windlass@.service.d"
    sed "s|^\(Exec[A-Za-z]*=\)[^ ]*/service |\1$BUILD_DIR/systemd/service |
        s|%E/windlass|$ETC|g" "$BUILD_DIR/systemd/$1/windlass@.service" \
        >"$UNITS/windlass@.service"
    grep -q "^ExecStart=$BUILD_DIR/systemd/service start $ETC/%i " "$UNITS/windlass@.service" ||
        fail "the unit has no such ExecStart"
    printf '[Service]\nEnvironment=%s\n' "WINDLASS=$WINDLASS" \
        "WINDLASS_XLATOR_PATH=$WINDLASS_XLATOR_PATH" >"$UNITS/windlass@.service.d/test.conf"
    [ "$1" = system ] || return 0
    mkdir -p "$UNITS/default.target.wants"
    cp /lib/systemd/system/systemd-journald{.service,.socket} "$UNITS"
    ln -s ../systemd-journald.service "$UNITS/default.target.wants"
}

# Its cgroups are below one that this test removes.
enter_cgroup () {
    local line path
    while IFS=: read -r _ line path; do
        case $line in
            '') line=unified ;;
            name=*) line=${line#name=} ;;
            *) continue ;;
        esac
        [ -d "/sys/fs/cgroup/$line" ] || line=.
        path=/sys/fs/cgroup/$line$path
        mkdir "$path/windlass-test.$$" 2>/dev/null || continue
        [ "$1" = system ] || chown -R 65534 "$path/windlass-test.$$"
        echo "$BASHPID" >"$path/windlass-test.$$/cgroup.procs"
    done </proc/self/cgroup
}

# Its processes may still be ending.
cgroup_is_left () {
    find /sys/fs/cgroup -depth -type d -path "*/windlass-test.$$*" -exec rmdir {} + 2>/dev/null
    [ -z "$(find /sys/fs/cgroup -type d -name "windlass-test.$$")" ]
}

# In the new namespaces, as their process 1.
become_init () {
    mount --make-rprivate /
    mount -t tmpfs none /run
    mkdir -p /run/systemd/system
    INSIDE=1 "$0" >"$TEST_DIR/inside" 2>&1 </dev/null
    echo $? >"$TEST_DIR/status"
}

begin_inside () {
    [ -z "${INSIDE-}" ] || return 0
    need_root
    need_fuse
    need_command systemctl unshare
    [ -x $INIT ] || skip "needs systemd"
    make_units "$1"
    (
        enter_cgroup "$1"
        export SYSTEMD_UNIT_PATH=$UNITS SYSTEMD_LOG_LEVEL=info SYSTEMD_LOG_TARGET=console
        export -f become_init
        export TEST_DIR INIT container=windlass-test
        # shellcheck disable=SC2016 # the other shell's
        exec unshare --mount --pid --fork --kill-child --mount-proc --ipc --uts bash -c '
            become_init & exec "$INIT" --system --unit=default.target' "$0"
    ) >"$TEST_DIR/manager" 2>&1 </dev/null &
    manager=$!
    wait_until "[ -s '$TEST_DIR/status' ] || ! is_running $manager"
    kill -9 $manager 2>/dev/null
    wait $manager 2>/dev/null
    wait_until cgroup_is_left
    cat "$TEST_DIR/inside"
    [ -s "$TEST_DIR/status" ] || { cat "$TEST_DIR/manager"; fail "systemd ended"; }
    exit "$(cat "$TEST_DIR/status")"
}
