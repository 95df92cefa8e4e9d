# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds for another processor with Debian's cross compiler, and tries the build in qemu's emulator.
# Beside the build, in $TEST_DIR: root, the libraries of that processor; back and mnt.
#
#   . "$(dirname "$0")/processor.sh"
#   processor_build arm64 aarch64 [SUITE]     Debian's name and GNU's; configure.log and make.log
#                                             are in $TEST_DIR/build
#   processor_mounts                          rot-13 is mounted at $TEST_DIR/mnt
#   processor_conforms
#
# $windlass is the command that runs the build, in words.

set -u

fail () {
    echo "$*"
    exit 1
}

skip () {
    echo "$*"
    exit 77
}

cd "$TEST_DIR" || exit 1
. "$SOURCE_DIR/tools/elsewhere"
trap 'umount "$TEST_DIR/mnt" 2>/dev/null' EXIT

processor_libraries () {
    local debian=$1 suite=$2 package folder target link
    elsewhere_sources "$PWD/apt" "$suite" "$debian" ||
        skip "needs Debian's packages for $debian: $reason"
    elsewhere_apt apt-get -y --no-install-recommends --download-only install libc6-dev \
        libfuse3-dev libglib2.0-dev libseccomp-dev liburing-dev \
        libncurses-dev systemtap-sdt-dev >fetch.log 2>&1 || { cat fetch.log; exit 1; }
    mkdir root
    for package in apt/cache/archives/*.deb; do dpkg-deb -x "$package" root || exit 1; done
    # A release may keep the libraries of /lib below /usr, and a link from the root has to stay in
    # this one.
    for folder in lib lib64; do
        [ -e "root/$folder" ] || ln -s "usr/$folder" "root/$folder"
    done
    find root -type l -lname '/*' -printf '%l %p\n' |
        while read -r target link; do ln -sfn "$PWD/root$target" "$link"; done
    rm -rf apt
}

processor_build () {
    local debian=$1 gnu=$2-linux-gnu emulator root=$PWD/root
    emulator=qemu-${2/powerpc64le/ppc64le}
    command -v "$gnu-gcc" >/dev/null || skip "needs $gnu-gcc"
    command -v "$emulator" >/dev/null || skip "needs $emulator"
    processor_libraries "$debian" "${3-$(. /etc/os-release && echo "${VERSION_CODENAME-}")}"
    emulator+=" -L $root"
    export PKG_CONFIG_LIBDIR=$root/usr/lib/$gnu/pkgconfig:$root/usr/share/pkgconfig \
        PKG_CONFIG_SYSROOT_DIR=$root
    mkdir build && cd build || exit 1
    "$SOURCE_DIR/configure" --host="$gnu" CC="$gnu-gcc --sysroot=$root" \
        EMULATOR="$emulator" >configure.log 2>&1 || { cat configure.log; exit 1; }
    make -j2 all >make.log 2>&1 || { tail -n 40 make.log; exit 1; }
    ! grep 'warning:' make.log || fail "the build warns"
    # Absolute: where the emulated daemon is at /, it would not find its own file.
    export WINDLASS_XLATOR_PATH=$PWD/xlators
    windlass="$emulator $PWD/src/windlass"
}

processor_mounts () {
    mkdir "$TEST_DIR/back" "$TEST_DIR/mnt"
    cat >rot.vol <<VOLFILE
volume posix
    type storage/posix
    option directory $TEST_DIR/back
end-volume
volume rot-13
    type encryption/rot-13
    subvolumes posix
end-volume
VOLFILE
    $windlass -f rot.vol -l "$TEST_DIR/log" "$TEST_DIR/mnt" ||
        { cat "$TEST_DIR/log"; fail "nothing is mounted"; }
}

processor_rotates () {
    echo hello >"$TEST_DIR/mnt/file" || fail "a file can't be made"
    [ "$(cat "$TEST_DIR/mnt/file" "$TEST_DIR/back/file")" = $'hello\nuryyb' ] ||
        fail "the file has another content: $(cat "$TEST_DIR/mnt/file" "$TEST_DIR/back/file")"
}

processor_conforms () {
    umount "$TEST_DIR/mnt" || fail "the mount can't be ended"
    # The kit itself: the emulated windlass can't start another program for this processor.
    $windlass-conform --in-process rot.vol >conform.out 2>&1 ||
        { tail -n 40 conform.out; fail "the kit fails"; }
    tail -n 1 conform.out
}
