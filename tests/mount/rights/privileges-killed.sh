#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A caller that writes to, truncates or changes the owner of a setuid or setgid program, or of one
# with capabilities, takes these rights away just as on the bare directory, and the kernel does not
# ask for attributes before each write.
# longer
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv setfattr

# For each mode and each act, by root and by another user, what is left.
acts () {
    cd "$1" || exit 1
    for mode in $(amount 6777 "4755 2755 6777 644"); do
        for act in 'echo x >>f' ': >f' 'truncate -s 1 f' 'truncate -s 99 f' 'chown 1001:2001 f' \
            'chgrp 2001 f' 'fallocate -l 9 f' \
            'dd if=/dev/zero of=f bs=1 count=1 conv=notrunc' 'chmod g+w f' 'touch f' \
            'printf y 1<>f'; do
            for who in 0:0 1001:2001 1002:2002; do
                rm -f f
                printf 'some content' >f
                chown 1001:2001 f
                chmod $mode f
                setfattr -n security.capability -v 0x0100000200200000000000000000000000000000 f
                setpriv --reuid ${who%:*} --regid ${who#*:} --clear-groups \
                    sh -c "$act" >/dev/null 2>&1
                echo "$mode, $act by $who: $? $(stat -c '%A %u:%g %s' f) $(
                    getfattr -dm security f 2>/dev/null | grep -c capability)"
            done
        done
    done
    rm -f f
    cd "$TEST_DIR" || exit 1
}

mkdir bare
chmod 777 bare "$BACK"
acts bare >expected
for options in --kernel-writeback-cache=on $([ -z "${TEST_LONG-}" ] ||
    echo --kernel-writeback-cache=off --direct-io-mode=on \
    --passthrough=auto --idmapped-mounts --idmapped-mounts,--passthrough=auto); do
    stack
    # shellcheck disable=SC2086 # one or two
    mount_volfile "$VOL" ${options/,/ }
    acts "$MNT" >got
    # A direct write there may be anybody's, and root's takes them away as well.
    [ "$options" != --idmapped-mounts,--passthrough=auto ] || sed -i '/ by 0:0: /d' expected got
    diff expected got || fail "rights are killed otherwise than on the bare directory ($options)"
    unmount
done
grep -q 'rws.* 1$' expected && grep -q 'rwx.* 0$' expected || fail "nothing was killed, or all"

sed -i 's|type storage/posix|&\n    option log-level TRACE|' "$VOL"
mount_volfile "$VOL"
dd if=/dev/zero of="$MNT/written" bs=4k count=100 status=none
unmount
expect "the writes" 100 "$(grep -c ' writev .*-> posix' "$LOG")"
[ "$(grep -c 'getxattr .*-> posix' "$LOG")" -le 2 ] ||
    fail "the kernel asks for attributes before writes"
