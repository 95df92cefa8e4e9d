#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds for arm64 with no warning, and what is built works in an emulator: a mount, the kit without a mount, and the trace of functions.
# builds: release only
# long
# timeout: 1200
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
command -v aarch64-linux-gnu-gcc >/dev/null || skip "needs aarch64-linux-gnu-gcc"
command -v qemu-aarch64 >/dev/null || skip "needs qemu-aarch64"
. "$SOURCE_DIR/tools/elsewhere"

# --- the libraries of arm64 ---

elsewhere_sources "$PWD/apt" "$(. /etc/os-release && echo "${VERSION_CODENAME-}")" arm64 || skip "needs Debian's packages for arm64: $reason"
elsewhere_apt apt-get -y --no-install-recommends --download-only install libc6-dev libfuse3-dev libglib2.0-dev libseccomp-dev liburing-dev libncurses-dev \
    systemtap-sdt-dev >fetch.log 2>&1 || { cat fetch.log; exit 1; }
root=$PWD/root
mkdir "$root"
for package in apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$root" || exit 1; done
[ -e "$root/lib/ld-linux-aarch64.so.1" ] || ln -s usr/lib "$root/lib"
rm -rf apt

# --- the build ---

export PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
mkdir build && cd build || exit 1
emulator="qemu-aarch64 -L $root"
"$SOURCE_DIR/configure" --host=aarch64-linux-gnu CC="aarch64-linux-gnu-gcc --sysroot=$root" EMULATOR="$emulator" >configure.log 2>&1 ||
    { cat configure.log; exit 1; }
make -j2 all >make.log 2>&1 || { tail -n 40 make.log; exit 1; }
! grep 'warning:' make.log || fail "the build warns"

# --- what is built ---

# Absolute: where the emulated daemon is at /, it would not find its own file.
export WINDLASS_XLATOR_PATH=$PWD/xlators
windlass="$emulator $PWD/src/windlass"
mkdir ../back ../mnt
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
$windlass -f rot.vol -l "$TEST_DIR/log" "$TEST_DIR/mnt" || { cat "$TEST_DIR/log"; fail "nothing is mounted"; }
trap 'umount "$TEST_DIR/mnt" 2>/dev/null' EXIT
$windlass trace start --function 'posix_*' "$TEST_DIR/mnt" || fail "functions can't be traced"
echo hello >"$TEST_DIR/mnt/file" || fail "a file can't be made"
[ "$(cat "$TEST_DIR/mnt/file" "$TEST_DIR/back/file")" = 'hello
uryyb' ] || fail "the file has another content: $(cat "$TEST_DIR/mnt/file" "$TEST_DIR/back/file")"
$windlass trace cat "$TEST_DIR/mnt" >trace.out || fail "the trace can't be printed"
grep -q 'posix_writev' trace.out || fail "the trace lacks posix_writev: $(head -n 20 trace.out)"
$windlass trace stop "$TEST_DIR/mnt" || fail "the trace can't be stopped"
umount "$TEST_DIR/mnt" || fail "the mount can't be ended"

$windlass conform --in-process rot.vol >conform.out 2>&1 || { tail -n 40 conform.out; fail "the kit fails"; }
tail -n 1 conform.out
