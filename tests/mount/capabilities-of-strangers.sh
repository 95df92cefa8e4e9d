#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A refused call leaves a file's capabilities, as in the bare directory, though the kernel removes
# them before it asks for the change. An allowed call takes them away.
. "$(dirname "$0")/lib.sh"
need_root
need_command setpriv setcap getcap python3

stranger () {
    setpriv --reuid 1002 --regid 1002 --clear-groups "$@" >/dev/null 2>&1
}

# of FOLDER: what each call makes of root's program with a capability.
of () {
    local file=$1/program mode call
    for mode in 755 4755 777; do
        for call in "chown +-1:+-1" "chown 1002" "chown :1002" truncate append; do
            rm -f "$file"
            cp /bin/true "$file"
            chmod $mode "$file"
            setcap cap_net_raw+ep "$file"
            stat "$file" >/dev/null
            case $call in
            truncate) stranger truncate -s 5 "$file" ;;
            append) stranger sh -c 'echo >>"$0"' "$file" ;;
            "chown +-1:+-1") stranger python3 -c 'import os, sys; os.chown (sys.argv[1], -1, -1)' \
                "$file" ;;
            *) stranger $call "$file" ;;
            esac
            echo "$mode $call: status $?, $(getcap "$file" | sed "s|.* ||")"
        done
    done
}

mkdir bare
chmod 755 . bare
cp /bin/true bare/try
setcap cap_net_raw+ep bare/try || skip "needs a file system that keeps capabilities of files"
as_bare=$(of bare)
expect_match "calls that are refused leave them" '^755 chown 1002: status 1, cap_net_raw' "$as_bare"
expect_match "calls that are allowed take them away" '^777 append: status 0, $' "$as_bare"
for volfile in posix client-stack; do
    sed "s|/srv/export|$BACK|" "$SOURCE_DIR/volfiles/$volfile.vol" >"$VOL"
    for options in "" "-o no_default_permissions" "--kernel-writeback-cache=on"; do
        mount_volfile "$VOL" -o suid $options
        wanted=$as_bare
        # Where the kernel checks no rights it removes them before it asks; a caller that may write
        # to the file could do that anyway.
        [[ $options != *no_default* ]] ||
            wanted=$(sed -E 's/^(777 chown :?1002: status 1, ).*/\1/' <<<"$wanted")
        expect "$volfile $options" "$wanted" "$(of "$MNT")"
        unmount
    done
done
