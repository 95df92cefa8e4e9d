#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# After `make install`: its end says what mount(8) needs, the program uses nothing of the build
# tree, root and another user mount a line of fstab, and `make uninstall` leaves nothing.
# builds: release only
# through: device
. "$(dirname "$0")/../lib.sh"
need_root
need_fuse
need_command flock make mount fusermount3 python3

# Of the Makefile; what is before the last line is its being made again.
variable () {
    printf 'show:\n\t@echo "$(%s)"\n' "$1" | make -s --no-print-directory -C "$BUILD_DIR" \
        -f Makefile -f - show | tail -n 1
}
# Not beside that of another test: both would link the same.
make_here () {
    flock "$BUILD_DIR/Makefile" make -C "$BUILD_DIR" "$@"
}
prefix=$(variable prefix)
helpers=$(variable mounthelperdir)
private=$(variable private_libfuse)
[ "$prefix" != /usr ] || skip "needs another prefix than /usr, where the system's files are"

# In this mount namespace the folders are the system's with a layer for what is installed.
layer () {
    mkdir -p "over/$2" && mount -t tmpfs none "over/$2" && mkdir "over/$2/upper" "over/$2/work" &&
        mount -t overlay -o "lowerdir=$1,upperdir=over/$2/upper,workdir=over/$2/work" none "$1" ||
        skip "needs overlayfs over $1"
}
mkdir -p "$prefix"
layer "$prefix" prefix
layer "$(realpath /sbin)" sbin
find "$prefix/" -name '*windlass*' -o -name '*libfuse*' >before

make_here install >install.log 2>&1 || fail "make install: $(tail install.log)"
if [ "$(realpath "$helpers")" != "$(realpath /sbin)" ]; then
    command=$(sed -n 's/^    \(ln .* \/sbin\)$/\1/p' install.log)
    expect "the end of make install" "    $command" "$(grep -v '^make' install.log | tail -n 2)"
    expect_ok sh -c "$command"
else
    expect_no_match "make install with the helper in /sbin" 'ln -sf' "$(tail -n 4 install.log)"
fi

# windlass(8), as the page was called up to 0.1.0, is windlass(1).
expect "windlass(8)" ".so man1/windlass.1" "$(cat "$(variable mandir)/man8/windlass.8")"
expect_ok test -s "$(variable mandir)/man1/windlass.1"

stack encryption/rot-13
chown 65534 "$BACK" "$MNT"
echo uryyb >"$BACK/file"
printf '%s %s windlass noauto,user,pid-file=%s,log-file=%s 0 0\n' "$VOL" "$MNT" \
    "$PWD/run/pid" "$PWD/run/log" >fstab
mkdir -m 777 run
mount --bind fstab /etc/fstab
unset WINDLASS WINDLASS_XLATOR_PATH

# by_fstab [COMMAND]: mounts and unmounts, through COMMAND.
by_fstab () {
    local maps
    expect_ok "$@" mount "$MNT"
    DAEMON=$(cat run/pid)
    expect "what is read" hello "$("$@" cat "$MNT/file")"
    maps=$(awk '{ print $6 }' "/proc/$DAEMON/maps" | sort -u)
    expect_no_match "what the daemon has loaded" "^($BUILD_DIR|$SOURCE_DIR)/|^${private:-none}" "$maps"
    expect_match "what the daemon has loaded" "^$prefix/.*/posix.so" "$maps"
    [ -z "$private" ] || expect_match "its libfuse" "^$prefix/.*/${private##*/}" "$maps"
    expect_ok "$@" umount "$MNT"
    wait_until "! is_running $DAEMON"
    DAEMON=''
}
by_fstab
rm run/log
by_fstab user

# The site is installed on its own, and removed with the rest.
if command -v mandoc >/dev/null && command -v cmark-gfm >/dev/null; then
    make_here install-html >html.log 2>&1 || fail "make install-html: $(tail html.log)"
    expect_ok python3 "$SOURCE_DIR/doc/site/links.py" "$(variable htmldir)"
fi

for _ in first second; do
    expect_ok make_here uninstall
done
expect "after make uninstall" "$(cat before)" \
    "$(find "$prefix/" -name '*windlass*' -o -name '*libfuse*')"
expect "in /sbin" '' "$(find /sbin/ -name '*windlass*')"
