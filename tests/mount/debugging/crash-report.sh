#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A crash leaves a report in the log: which requests were pending and where, and where it happened.
# builds: release only
. "$(dirname "$0")/../lib.sh"
ulimit -S -c 0

# report: the last one, whose end has come.
report () {
    wait_until "! is_running $DAEMON"
    sed -n '/^pending frames:$/,/^---------$/p' "$LOG"
}

stack test/oops
mount_volfile "$VOL"
expect_ok mkdir "$MNT/fine"
expect_error "$DAEMON_GONE" mkdir "$MNT/oops"
said=$(report)
expect_match "pending frames" '^frame : type\(1\) op\(MKDIR\) unique\([0-9]+\) at\(oops-1\)$' \
    "$said"
expect_match "what it was about" '^  path: /oops$' "$said"
expect_match "the way" \
    '^  1: oops-1 \(test/oops\) MKDIR from .*src/fuse/[a-z/]+\.c:[0-9]+ \(bridge_mkdir_wind\)$' "$said"
expect_match "the signal" '^signal received: 11$' "$said"
expect_match "the reason" '^reason: access to address 0x0$' "$said"
line=$(grep -n nowhere "$SOURCE_DIR/tests/xlators/test/oops.c" | tail -1 | cut -d: -f1)
if grep -q '^#define HAVE_LIBBACKTRACE 1' "$BUILD_DIR/config.h"; then
    expect_match "the line" "^  #0 oops_crash at .*tests/xlators/test/oops\.c:$line$" "$said"
    expect_match "its caller" '^  #[0-9]+ bridge_mkdir_wind at .*src/fuse/[a-z/]+\.c:[0-9]+$' "$said"
else
    expect_match "how lines are found" "addr2line" "$said"
fi
expect_match "no core" "^core: none, since RLIMIT_CORE is 0: 'ulimit -c unlimited' before" "$said"
expect_match "when" '^time of crash:$' "$said"
expect_match "what crashed" '^package-string: windlass [0-9]' "$said"
expect_match "the backtrace" 'oops\.so.*\[0x[0-9a-f]+\]' "$said"
expect_match "its end" '^---------$' "$said"
umount -l "$MNT" 2>/dev/null || fusermount3 -uz "$MNT"

# crash_by NAME [COMMAND]: a mkdir of that name, by COMMAND.
crash_by () {
    rm -f "$LOG" pid
    mount_volfile "$VOL"
    "${@:2}" mkdir "$MNT/$1" 2>/dev/null
    said=$(report)
    umount -l "$MNT" 2>/dev/null || fusermount3 -uz "$MNT"
}
crash_by far
case $(uname -m) in
x86_64) expect_match "no address" '^reason: .* whose address the processor does not tell' "$said" ;;
*) expect_match "the address" '^reason: access to address 0x' "$said" ;;
esac
crash_by deep
expect_match "the stack of another thread than a reader" '^signal received: 11$' "$said"
expect_match "its end" '^---------$' "$said"

# Idle: no frames, but a report.
rm -f "$LOG" pid
mount_volfile "$VOL"
wait_until '"$WINDLASS" counts "$MNT" | grep -qx requests=0'
kill -SEGV "$DAEMON"
said=$(report)
expect_no_match "pending frames" '^frame' "$said"
expect_match "the signal" '^signal received: 11$' "$said"
expect_match "who sent it" "^reason: sent by process $$ \(.*\), uid $(id -u)$" "$said"
umount -l "$MNT" 2>/dev/null || fusermount3 -uz "$MNT"

# What only the daemon's user may read is read while a thread acts as a caller, too.
need_root
if grep -q '^#define HAVE_LIBBACKTRACE 1' "$BUILD_DIR/config.h"; then
    need_command setpriv
    module=$BUILD_DIR/tests/xlators/test/oops.so
    install -m 700 "$module" private.so
    mount --bind private.so "$module"
    chmod 777 "$BACK"
    crash_by caller setpriv --reuid 65534 --regid 65534 --clear-groups
    expect_match "the line, for a caller" "^  #0 oops_crash at .*/oops\.c:$line$" "$said"
    umount "$module"
fi

# Where the core goes. The kernel writes none here: the limit is less than a page.
ulimit -S -c 1 || skip "needs a core limit above 0 for the last part"
core_goes () { # PATTERN REGEX
    rm -f "$LOG" pid
    echo "$1" >pattern
    mount --bind pattern /proc/sys/kernel/core_pattern
    mount_volfile "$VOL"
    kill -ABRT "$DAEMON"
    said=$(report)
    expect_match "the core with '$1'" "$2" "$said"
    umount -l "$MNT"
    umount /proc/sys/kernel/core_pattern
}
core_goes '/var/crash/core.%p.%%.%t' "^core: the kernel writes it to '/var/crash/core.[0-9]+.%.\*', \
cut at 1024 bytes .RLIMIT_CORE.; 'gdb /.*/windlass /var/crash/core.[0-9]+.%.\*' reads it$"
core_goes core "^core: the kernel writes it to '/core[.0-9]*', cut"
core_goes '|/usr/lib/systemd/systemd-coredump %P %u' \
    "^core: the kernel gives it to '/usr/lib/systemd/.*'; as root, 'coredumpctl gdb [0-9]+'"
core_goes '|/usr/share/apport/apport -p%p' "^core: .*/var/crash: 'apport-unpack REPORT FOLDER'"
core_goes '|/opt/keeper' "^core: the kernel gives it to '/opt/keeper', whose manual says"
core_goes '@/run/cores.socket' "^core: .* listens at the socket '/run/cores.socket', whose manual"
core_goes '@@/run/cores.socket' "^core: .* listens at the socket '/run/cores.socket', whose manual"

# The kernel has this value where fs.suid_dumpable, which is the whole system's, is 2.
cat >dumpable.c <<'END'
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int
prctl (int option, ...)
{
    unsigned long a[4];
    va_list rest;
    va_start (rest, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg (rest, unsigned long);
    va_end (rest);
    return option == PR_GET_DUMPABLE ? 2 : syscall (SYS_prctl, option, a[0], a[1], a[2], a[3]);
}
END
need_command gcc
gcc -O1 -shared -fPIC -o dumpable.so dumpable.c
export LD_PRELOAD=$PWD/dumpable.so
core_goes core "^core: none, since fs.suid_dumpable is 2 and kernel.core_pattern is no absolute"
core_goes /var/crash/core "^core: the kernel writes it to '/var/crash/core"
