#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/Containerfile builds an image, with podman, over a Debian 13 of debootstrap's. A mount
# of a container is seen outside of it, by packaging/README's line, and ends with the container.
# builds: release only
# through: device
# long
# timeout: 3000
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../unit/recipe-lib.sh"
need_root
need_fuse
need_command podman debootstrap

# crun takes cgroups of version 2 alone. In this mount namespace there are no others. Limits that
# podman would raise can't be raised everywhere.
umount -l /sys/fs/cgroup 2>/dev/null
mount -t cgroup2 none /sys/fs/cgroup || skip "needs cgroups of version 2"
cat >containers.conf <<END
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=1024:1024", "nproc=8192:8192"]
END
export CONTAINERS_CONF=$PWD/containers.conf
# Its names of folders for what runs have at most 50 bytes.
mkdir -p /run/containers && mount -t tmpfs none /run/containers || fail "/run/containers"
pod () {
    podman --root "$TEST_DIR/images" --runroot /run/containers "$@"
}
debootstrap --variant=minbase trixie base >debootstrap.log 2>&1 ||
    skip "needs a mirror of Debian: $(tail -n 1 debootstrap.log)"
tar -C base -c . | pod import -q - localhost/base >/dev/null || fail "podman import"

recipe_tarball
mkdir dist data shared
mv windlass-*.tar.xz dist/
pod build --isolation chroot --network host --build-arg BASE=localhost/base -t windlass \
    -f "$SOURCE_DIR/packaging/Containerfile" dist >build.log 2>&1 ||
    fail "podman build: $(tail -n 30 build.log)"
expect_match "the version" "^windlass $version\$" \
    "$(pod run --rm --network host windlass --version)"

sed 's|/srv/export|/data|' "$SOURCE_DIR/volfiles/rot-13.vol" >my.vol
mount --bind shared shared && mount --make-shared shared || fail "a shared mount"
mkdir shared/view
end_container () {
    local status=$?
    pod rm -f -t 5 view >/dev/null 2>&1
    umount -l "$TEST_DIR/shared/view" "$TEST_DIR/shared" 2>/dev/null
    (exit $status) # cleanup ends with it
    cleanup
}
trap end_container EXIT
pod run -d --name view --network host --device /dev/fuse --cap-add SYS_ADMIN \
    -v "$PWD/data:/data" -v "$PWD/shared:$PWD/shared:rshared" \
    -v "$PWD/my.vol:/etc/windlass/my.vol:ro" windlass \
    -N -l - -f /etc/windlass/my.vol -o allow_other "$PWD/shared/view" >run.log 2>&1 ||
    fail "podman run: $(cat run.log)"
wait_until "grep -q ' $PWD/shared/view .* fuse.windlass ' /proc/self/mountinfo"
echo hello >shared/view/file || fail "the view cannot be written: $(pod logs view)"
expect "what the translator wrote" uryyb "$(cat data/file)"
expect_match "a subcommand in the container" "$PWD/shared/view" "$(pod exec view windlass list)"
expect_ok pod stop -t 20 view
wait_until "! grep -q ' $PWD/shared/view ' /proc/self/mountinfo"
expect "the container's status" 0 "$(pod inspect --format '{{.State.ExitCode}}' view)"
