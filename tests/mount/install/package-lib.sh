# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds Debian's packages in a Debian of debootstrap, and tries them in a bare one.
#
#   . "$(dirname "$0")/../lib.sh"
#   . "$(dirname "$0")/package-lib.sh"
#   package_systems SUITE              $bare and $builder are roots of that Debian, to be changed
#   package_build [OPTION...]          tools/make-deb in $builder, as a build daemon: no root, no
#                                      network, no /dev/fuse; $packages has what it made
#   package_walk                       what a new user types: to a mount by systemd, and a view
#   package_translator                 what a new author types: to a translator under gdb
#   in_root ROOT COMMAND...            as root
#
# Both Debians are kept in build/debian, where nothing is changed afterwards: the bare one has what
# debootstrap's minbase has, and the builder what the packages build from.

kept=$SOURCE_DIR/build/debian

in_root () {
    local root=$1
    shift
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

# Fails with what the command said.
quietly () {
    "$@" >quiet.log 2>&1 </dev/null || { tail -n 60 quiet.log; fail "failed: $*"; }
}

# system_files ROOT [fuse]: what a running system has, but for /dev/fuse if that isn't named.
system_files () {
    local root=$1 name
    expect_ok mount -t proc proc "$root/proc"
    expect_ok mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    expect_ok mount -t tmpfs -o mode=755 tmpfs "$root/run"
    for name in null zero full random urandom tty ${2-}; do
        : >"$root/dev/$name"
        mount --bind "/dev/$name" "$root/dev/$name"
    done
    mkdir -m 1777 "$root/dev/shm"
    ln -s /proc/self/fd "$root/dev/fd"
}

# make_system SUITE: a bare one, in $kept/SUITE.
make_system () {
    local new=$kept/$1.new
    rm -rf "$new"
    quietly debootstrap --variant=minbase "$1" "$new" "$(elsewhere_mirror)"
    in_root "$new" apt-get clean
    mv "$new" "$kept/$1"
}

# make_builder SUITE: with what the packages build from, and lintian. $wanted names that.
make_builder () {
    local new=$kept/$1-build
    # What was interrupted is not gone on with.
    [ -e "$new.has" ] || rm -rf "$new"
    [ -d "$new" ] || cp -a "$kept/$1" "$new"
    rm -f "$new.has"
    cp /etc/resolv.conf "$new/etc"
    mkdir -p "$new/tmp/source"
    cp -r "$SOURCE_DIR/debian" "$new/tmp/source"
    system_files "$new"
    quietly in_root "$new" apt-get -q update
    quietly in_root "$new" apt-get -qy --no-install-recommends install build-essential gdb lintian
    quietly in_root "$new" apt-get -qy --no-install-recommends build-dep /tmp/source
    quietly in_root "$new" apt-get -qy --no-install-recommends \
        -P pkg.windlass.private-libfuse build-dep /tmp/source
    in_root "$new" apt-get clean
    umount -R "$new/proc" "$new/dev" "$new/run"
    rm -rf "$new/tmp/source"
    echo "$wanted" >"$new.has"
}

# layer FOLDER NAME: mounts NAME, which is FOLDER, and keeps what is changed to itself.
layer () {
    mkdir -p "$2.over/upper" "$2.over/work" "$2"
    mount -t overlay -o "lowerdir=$1,upperdir=$2.over/upper,workdir=$2.over/work" none "$2" ||
        skip "needs overlayfs over $1"
}

package_systems () {
    local wanted
    suite=$1 # machine_begin needs it too
    need_command debootstrap flock xz
    # shellcheck source=tools/elsewhere
    . "$SOURCE_DIR/tools/elsewhere"
    [ -n "$(elsewhere_mirror)" ] || skip "needs a mirror of Debian, and apt knows none"
    wanted=$({ sed '/^$/q' "$SOURCE_DIR/debian/control"; declare -f make_builder; } | sha256sum)
    mkdir -p "$kept"
    exec 9>"$kept/lock"
    flock 9
    [ -d "$kept/$suite" ] || make_system "$suite"
    [ "$wanted" = "$(cat "$kept/$suite-build.has" 2>/dev/null)" ] || make_builder "$suite"
    exec 9>&-
    bare=$PWD/bare
    builder=$PWD/builder
    layer "$kept/$suite" "$bare"
    layer "$kept/$suite-build" "$builder"
    cp /etc/resolv.conf "$bare/etc"
    system_files "$bare" fuse
    system_files "$builder"
}

# The tarball of make dist is what the build begins from.
package_build () {
    local version
    version=$(sed -n 's/^AC_INIT(\[windlass\], \[\(.*\)\])$/\1/p' "$SOURCE_DIR/configure.ac")
    XZ_OPT=-1 quietly flock "$BUILD_DIR/Makefile" make -C "$BUILD_DIR" dist
    packages=$builder/build/packages
    mkdir -p "$packages"
    tar -C "$builder/build" -xf "$BUILD_DIR/windlass-$version.tar.xz"
    mv "$BUILD_DIR/windlass-$version.tar.xz" "$packages/windlass_$version.orig.tar.xz"
    [[ " $* " = *' --system-libfuse '* ]] || package_libfuse "$version"
    chown -R 65534:65534 "$builder/build"
    echo "building in $builder, which takes some minutes"
    unshare -n chroot --userspec=65534:65534 "$builder" env -i PATH=/usr/bin:/bin HOME=/nonexistent \
        LC_ALL=C.UTF-8 TMPDIR=/build DEB_BUILD_OPTIONS="parallel=$(nproc)" \
        "/build/windlass-$version/tools/make-deb" "$@" /build/packages >build.log 2>&1 </dev/null ||
        { tail -n 100 build.log; fail "the packages can't be built"; }
}

# The second tarball, from the sources of Debian; kept, since nothing of it changes.
package_libfuse () {
    local fetched
    fetched=$(find "$kept" -maxdepth 1 -name 'fuse3_*.orig.tar.*' | head -n 1)
    if [ -z "$fetched" ]; then
        quietly "$SOURCE_DIR/tools/build-libfuse" --fetch="$kept"
        fetched=$kept/$(cut -d ' ' -f 1 quiet.log)
    fi
    cp "$fetched" "$packages/windlass_$1.orig-libfuse.tar.${fetched##*.}"
}

# lintian's errors and warnings are none; each override has its reason beside it.
package_lintian () {
    quietly in_root "$builder" lintian --allow-root --fail-on error,warning --pedantic \
        "/build/packages/$(cd "$packages" && echo windlass_*.changes)"
}

# files_of ROOT: what is in it, but for what apt, dpkg and the loader keep for themselves.
files_of () {
    (cd "$1" && find . -xdev \( -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o \
        -path ./var/cache -o -path ./var/log/apt -o -path ./var/lib/systemd \) -prune -o -print |
        grep -vxE './(etc/ld.so.cache|var/log/(dpkg|alternatives).log|etc/.pwd.lock)' | sort)
}

# package_next: a package of a newer version, as an upgrade brings it. Prints its name.
package_next () {
    local file
    file=$(echo "$packages"/windlass_*.deb)
    dpkg-deb -R "$file" next
    sed -i 's/^Version: .*/&.1/' next/DEBIAN/control
    # Its modules are of another ABI, as those of the next version may be.
    cp "$WINDLASS_TEST_XLATORS/test/badabi.so" "$(echo next/usr/lib/*/windlass/xlator/debug)/trace.so"
    dpkg-deb -b --root-owner-group next "$bare/root/next.deb" >/dev/null
    rm -r next
}

# In the bare system: installed with what they depend on, used, upgraded under a mount, removed and
# purged. Nothing is left.
package_try () {
    local pid
    need_fuse
    cp "$packages"/*.deb "$bare/root"
    files_of "$bare" >before
    in_root "$bare" dpkg-query -W -f '${Package}\n' >packages.before
    quietly in_root "$bare" apt-get -q update
    quietly in_root "$bare" sh -c \
        'apt-get -qy --no-install-recommends install /root/windlass_*.deb /root/windlass-doc_*.deb'
    expect_ok in_root "$bare" test -s /usr/share/doc/windlass/html/index.html
    cp -r "$SOURCE_DIR/debian/tests" "$bare/root"
    quietly in_root "$bare" /root/tests/mount

    in_root "$bare" mkdir /root/back /root/mnt
    printf 'volume posix\n    type storage/posix\n    option directory /root/back\nend-volume\n' \
        >"$bare/root/my.vol"
    quietly in_root "$bare" windlass -f /root/my.vol -p /run/my.pid /root/mnt
    pid=$(cat "$bare/run/my.pid")
    exec 8>"$bare/root/mnt/open"
    package_upgraded "$pid"
    exec 8>&-
    expect "a file that was open" "goes on" "$(cat "$bare/root/back/open")"
    expect_ok in_root "$bare" windlass umount /root/mnt
    wait_until "! is_running $pid"
    in_root "$bare" rm -r /root/back /root/mnt /root/my.vol /root/next.deb /root/tests
    package_removed
}

# The mount goes on with the old program; windlass doctor and a reload say so.
package_upgraded () {
    package_next
    quietly in_root "$bare" apt-get -qy install /root/next.deb
    is_running "$1" || fail "the upgrade ended the daemon of a mount"
    expect_match "what windlass doctor finds" "needs restart: process $1 runs /usr/bin/windlass" \
        "$(in_root "$bare" windlass doctor /root/mnt)"
    echo "goes on" >&8
    printf 'volume top\n    type debug/trace\n    subvolumes posix\nend-volume\n' \
        >>"$bare/root/my.vol"
    expect_error "debug/trace.*ABI 4711, must be [0-9]+: windlass was upgraded since this mount \
began; unmount it and mount it again" in_root "$bare" windlass reload /root/mnt
}

package_removed () {
    quietly in_root "$bare" sh -c 'apt-get -qy purge windlass windlass-doc; apt-get -qy install \
        --no-install-recommends /root/windlass_*.deb; apt-get -qy remove windlass'
    in_root "$bare" dpkg-query -W -f '${Package}\n' | grep -vxFf packages.before |
        xargs env -i PATH="$PATH" chroot "$bare" apt-get -qy purge >quiet.log 2>&1 ||
        { cat quiet.log; fail "what was installed can't be purged"; }
    files_of "$bare" >after
    expect "what is left" '' "$(diff before after)"
}

# page PAGE LANGUAGE [NUMBER]: what a page of doc/ shows in its nth block of that language.
page () {
    awk -v "begin=\`\`\`$2" -v "wanted=${3-1}" \
        '/^```/ { on = !on && $0 == begin && ++n == wanted; next } on' "$SOURCE_DIR/doc/$1.md"
}

# page_prints PAGE: the commands whose output is the page's first text block.
page_prints () {
    awk '/^```sh$/ { on = 1; lines = ""; next } /^```text$/ { printf "%s", lines; exit }
        /^```/ { on = 0 } on { lines = lines $0 "\n" }' "$SOURCE_DIR/doc/$1.md"
}

# manual PAGE NUMBER: the lines of the nth example of a manual page.
manual () {
    awk -v "wanted=$2" '/^\.nf/ { on = ++n == wanted; next } /^\.fi/ { on = 0 } on' \
        "$SOURCE_DIR/man/$1.in" | sed 's/\\(aq/'"'"'/g; s/\\(ti/~/g; s/\\-/-/g'
}

# --- a machine ----------------------------------------------------------------------------------

# A bare Debian with systemd as process 1, and an ordinary user. Sets $manager and $init.
machine_begin () {
    # shellcheck source=tests/mount/install/systemd-lib.sh
    . "$SOURCE_DIR/tests/mount/install/systemd-lib.sh"
    machine=$PWD/machine
    layer "$kept/$suite" "$machine"
    cp /etc/resolv.conf "$machine/etc"
    system_files "$machine" fuse
    mount -t sysfs sysfs "$machine/sys" && mount -t cgroup2 none "$machine/sys/fs/cgroup" ||
        skip "needs cgroups of version 2"
    cp "$packages"/windlass_*.deb "$machine/root"
    quietly in_root "$machine" apt-get -q update
    quietly in_root "$machine" apt-get -qy --no-install-recommends install systemd
    quietly in_root "$machine" useradd --create-home --shell /bin/bash ann
    (
        enter_cgroup system
        # shellcheck disable=SC2016 # the other shell's
        exec unshare --mount --pid --fork --kill-child --ipc --uts bash -c '
            mount --make-rprivate / && mount -t proc proc "$0/proc" && cd "$0" && mkdir -p old &&
            pivot_root . old && umount -l old && rmdir old &&
            exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
        ' "$machine"
    ) >manager.log 2>&1 </dev/null &
    manager=$!
    trap 'status=$?; cat "$TEST_DIR/manager.log"; machine_end; (exit $status); cleanup' EXIT
    wait_until "init=\$(pgrep -P $manager) &&
        in_machine systemctl is-active -q multi-user.target 2>/dev/null"
}

# in_machine COMMAND...: as root.
in_machine () {
    nsenter -t "$init" -m -p -i -u -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# typed WHO LINES: what somebody types, who gives up at the first error. The lines do not lie in
# /tmp: from Debian 13 on, systemd mounts another one there.
typed () {
    echo "$2" >"$machine/opt/typed"
    if [ "$1" = root ]; then in_machine sh -e /opt/typed; else
        in_machine su - "$1" -c 'sh -e /opt/typed'; fi
}

machine_end () {
    kill -9 "$manager"
    wait "$manager" 2>/dev/null
    wait_until cgroup_is_left
}

# As windlass@.service(8) and doc/quickstart-run.md say, and nothing else.
package_walk () {
    local who
    machine_begin
    quietly typed root 'apt-get -qy install /root/windlass_*.deb'

    quietly typed root "$(manual windlass@.service.8 1)"
    typed root 'echo hello >/srv/data/file'
    expect "what the unit's mount stores" hello "$(cat "$machine/srv/export/file")"
    expect_match "its log" "is mounted" "$(typed root 'journalctl -o cat -u windlass@data')"
    quietly typed root 'systemctl disable --now windlass@data'

    for who in root ann; do
        expect "a view, for $who" "$(page quickstart-run text)" \
            "$(typed $who "mkdir /tmp/t; $(page_prints quickstart-run)")"
        typed root 'rm -r /tmp/t'
    done
    machine_end
    trap cleanup EXIT
}

# --- windlass-dev -------------------------------------------------------------------------------

# As doc/quickstart-translator.md says: the module, and a mount under gdb that stops in it.
package_gdb () {
    local line
    line=$(sed -n 's/^Under gdb: `gdb \(--args .*\)`, then$/\1/p' \
        "$SOURCE_DIR/doc/quickstart-translator.md")
    : >"$builder/dev/fuse"
    mount --bind /dev/fuse "$builder/dev/fuse" || fail "/dev/fuse"
    page quickstart-translator c >"$builder/root/keep.c"
    {
        echo 'cd'
        page quickstart-translator sh 1
        page quickstart-translator sh 2 | sed '/^windlass/,$d'
        echo 'until mountpoint -q /tmp/import; do sleep 0.1; done && touch /tmp/import/a_file &&
            rm -f /tmp/import/a_file &'
        echo "gdb -batch -ex 'set breakpoint pending on' -ex 'break keep_unlink' -ex run \
            -ex 'print loc->name' -ex kill $line"
    } >"$builder/root/typed"
    in_root "$builder" sh -e /root/typed >gdb.log 2>&1 || fail "gdb: $(cat gdb.log)"
    expect_match "where gdb stops" 'Breakpoint 1[.0-9]*, keep_unlink \(frame=.* at keep.c:[0-9]+' \
        "$(cat gdb.log)"
    expect_match "what it prints" '"a_file"' "$(cat gdb.log)"
    expect_ok in_root "$builder" windlass umount --dead /tmp/import
}

# Where there is a compiler.
package_translator () {
    quietly in_root "$builder" sh -c \
        'dpkg -i --force-depends /build/packages/windlass_*.deb /build/packages/windlass-dev_*.deb'
    cp -r "$SOURCE_DIR/debian/tests" "$builder/build"
    quietly in_root "$builder" /build/tests/translator
    package_gdb
}
