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
INIT=/lib/systemd/systemd

# The units of the build, with its paths and without the machine's.
make_units () {
    local target
    mkdir -p "$UNITS/windlass@.service.d" "$ETC"
    for target in default sysinit basic shutdown umount final exit local-fs local-fs-pre \
        remote-fs remote-fs-pre network network-online multi-user; do
        printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' "$target" \
            >"$UNITS/$target.target"
    done
    sed "s|^\(Exec[A-Za-z]*=\)[^ ]*/service |\1$BUILD_DIR/systemd/service |" \
        "$BUILD_DIR/systemd/$1/windlass@.service" >"$UNITS/windlass@.service"
    grep -q "^ExecStart=$BUILD_DIR/systemd/service start %E/windlass/%i " \
        "$UNITS/windlass@.service" || fail "the unit has no such ExecStart"
    printf '[Service]\nEnvironment=%s\n' "WINDLASS=$WINDLASS" \
        "WINDLASS_XLATOR_PATH=$WINDLASS_XLATOR_PATH" >"$UNITS/windlass@.service.d/test.conf"
    if [ "$1" = user ]; then
        chown -R 65534 "$TEST_DIR"
    else
        sed -i "s|%E/windlass|$ETC|g" "$UNITS/windlass@.service"
        mkdir -p "$UNITS/default.target.wants"
        cp /lib/systemd/system/systemd-journald{.service,.socket} "$UNITS"
        ln -s ../systemd-journald.service "$UNITS/default.target.wants"
    fi
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

go_on_inside () { # COMMAND...: prefix
    INSIDE=1 "$@" "$0" >"$TEST_DIR/inside" 2>&1 </dev/null
    echo $? >"$TEST_DIR/status"
}

# Process 1 of the new namespaces.
inside () {
    mount --make-rprivate /
    mount -t tmpfs none /run
    mkdir -p /run/systemd/system /run/user/65534
    if [ "$1" = system ]; then
        go_on_inside env &
        exec "$INIT" --system --unit=default.target
    fi
    chown 65534 /run/user/65534
    chmod 700 /run/user/65534
    export XDG_RUNTIME_DIR=/run/user/65534 HOME=$TEST_DIR/home
    user "$INIT" --user --unit=default.target &
    go_on_inside setpriv --reuid 65534 --regid 65534 --clear-groups &
    wait -n # for whichever ends first
}

begin_inside () {
    ETC=$TEST_DIR/etc/windlass
    [ "$1" = system ] || ETC=$TEST_DIR/home/.config/windlass
    if [ -n "${INSIDE-}" ]; then
        wait_until "systemctl ${1/#/--} is-active default.target >/dev/null 2>&1"
        touch "$TEST_DIR/began"
        return
    fi
    need_root
    need_fuse
    need_command systemctl unshare
    [ -x $INIT ] || skip "needs systemd"
    make_units "$1"
    (
        enter_cgroup "$1"
        export SYSTEMD_UNIT_PATH=$UNITS SYSTEMD_LOG_LEVEL=info SYSTEMD_LOG_TARGET=console
        export -f inside go_on_inside user
        export TEST_DIR INIT container=windlass-test
        # shellcheck disable=SC2016 # the other shell's
        exec unshare --mount --pid --fork --kill-child --mount-proc --ipc --uts bash -c \
            'inside "$1"' "$0" "$1"
    ) >"$TEST_DIR/manager" 2>&1 </dev/null &
    manager=$!
    wait_until 280 "[ -s '$TEST_DIR/status' ] || ! is_running $manager"
    kill -9 $manager 2>/dev/null
    wait $manager 2>/dev/null
    wait_until cgroup_is_left
    cat "$TEST_DIR/inside"
    if ! [ -s "$TEST_DIR/status" ]; then
        cat "$TEST_DIR/manager"
        [ ! -e "$TEST_DIR/began" ] || fail "systemd ended"
        skip "needs a systemd that can start here: $(tail -n 1 "$TEST_DIR/manager")"
    fi
    exit "$(cat "$TEST_DIR/status")"
}
