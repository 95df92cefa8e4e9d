#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Lines of fstab as systemd takes them: what its generator makes of their options, a mount by it, an
# automount, and that both log to the journal. systemd-analyze finds no fault in them, nor in the
# units.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/systemd-lib.sh"
generator=/lib/systemd/system-generators/systemd-fstab-generator
need_command systemd-analyze mount
[ -x $generator ] || skip "needs systemd's generator for fstab"
begin_inside system

# mount(8) finds the helper of the build.
mkdir over && mount -t tmpfs none over && mkdir over/upper over/work &&
    mount -t overlay -o "lowerdir=$(realpath /sbin),upperdir=over/upper,workdir=over/work" none \
        "$(realpath /sbin)" || skip "needs overlayfs over /sbin"
printf '#!/bin/sh\nWINDLASS=%s WINDLASS_XLATOR_PATH=%s exec sh %s "$@"\n' "$WINDLASS" \
    "$WINDLASS_XLATOR_PATH" "$BUILD_DIR/src/mount.windlass" >/sbin/mount.windlass
chmod +x /sbin/mount.windlass

stack encryption/rot-13
echo uryyb >"$BACK/file"
AUTO=$PWD/auto
mkdir "$AUTO"
cat >fstab <<END
$VOL $MNT windlass nofail,x-systemd.requires-mounts-for=$BACK 0 0
$VOL $AUTO windlass noauto,x-systemd.automount,x-systemd.requires=network-online.target,_netdev 0 0
END
SYSTEMD_FSTAB=$PWD/fstab $generator "$UNITS" "$UNITS" "$UNITS" || fail "the generator failed"
unit=$(systemd-escape --path --suffix=mount "$MNT")
auto=$(systemd-escape --path --suffix=automount "$AUTO")
setting () { # UNIT REGEX: it has such a line
    expect_match "$1" "$2" "$(cat "$UNITS/$1")"
}
setting "$unit" '^Type=windlass$'
setting "$unit" "^RequiresMountsFor=.*$BACK"
setting "${auto%.*}.mount" '^After=network-online.target'
[ -e "$UNITS/local-fs.target.wants/$unit" ] || fail "the mount is not wanted at boot"
cp /lib/systemd/system/systemd-journald-dev-log.socket "$UNITS" 2>/dev/null
for name in "$unit" "$auto" windlass@data.service; do
    expect "what systemd-analyze says of $name" '' \
        "$(systemd-analyze verify --man=no "$UNITS/$name" 2>&1 | grep -e "$name" -e windlass)"
done

systemctl daemon-reload
expect_ok systemctl start "$unit"
expect "by its unit" hello "$(cat "$MNT/file")"
expect_match "its log" "'$MNT' is mounted" \
    "$(journalctl -o cat -u "$unit" "WINDLASS_MOUNTPOINT=$MNT")"
expect_ok systemctl stop "$unit"
! is_mounted || fail "it is mounted after the stop"

if [ -c /dev/autofs ]; then
    expect_ok systemctl start "$auto"
    expect "before it is used" autofs "$(findmnt -no FSTYPE "$AUTO")"
    expect "when it is used" hello "$(cat "$AUTO/file")"
    expect_match "then" 'fuse.windlass' "$(findmnt -no FSTYPE "$AUTO")"
    expect_ok systemctl stop "$auto"
    ! mountpoint -q "$AUTO" || fail "it is mounted after the stop"
fi
