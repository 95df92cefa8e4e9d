#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A refused call leaves a file's capabilities, as in the bare directory, though the kernel removes
# them before it asks for the change. An allowed call takes them away, and setuid, whoever has the
# file open to write.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv setcap getcap python3

stranger () {
    setpriv --reuid 1002 --regid 1002 --clear-groups "$@" >/dev/null 2>&1
}

# of FOLDER: what each call makes of root's program with a capability.
of () {
    local file=$1/program mode call
    for mode in 755 4755 777 4777 2777; do
        for call in "chown +-1:+-1" "chown 1002" "chown :1002" truncate append; do
            rm -f "$file"
            cp /bin/true "$file"
            chmod $mode "$file"
            setcap cap_net_raw+ep "$file"
            stat "$file" >/dev/null
            case $call in
            truncate) stranger truncate -s 5 "$file" ;;
            append) stranger sh -c 'echo >>"$0"' "$file" ;;
            "chown +-1:+-1") stranger python3 -IS -c 'import os, sys; os.chown (sys.argv[1], -1, -1)' \
                "$file" ;;
            *) stranger $call "$file" ;;
            esac
            echo "$mode $call: status $?, $(getcap "$file" | sed "s|.* ||"), $(stat -c %a "$file")"
        done
    done
}

# of_root FOLDER: what root's chown (-1, -1), and root's write, make of a program that others, or root
# itself, may be about to write to.
of_root () {
    local file=$1/program mode holder call capability
    for mode in 755 4755; do
        for capability in "" cap_net_raw+ep; do
            for holder in nobody root; do
                for call in chown append; do
                    rm -f "$file"
                    cp /bin/true "$file"
                    [ $holder = nobody ] || exec 8>>"$file"
                    chmod $mode "$file"
                    [ -z "$capability" ] || setcap $capability "$file"
                    stat "$file" >/dev/null
                    case $call in
                    chown) python3 -IS -c 'import os, sys; os.chown (sys.argv[1], -1, -1)' "$file" ;;
                    append) echo >>"$file" ;;
                    esac
                    echo "root: $mode ${capability:-none} open by $holder, $call: status $?," \
                        "$(getcap "$file" | sed "s|.* ||"), $(stat -c %a "$file")"
                    exec 8>&-
                done
            done
        done
    done
}

mkdir bare
chmod 755 . bare
cp /bin/true bare/try
setcap cap_net_raw+ep bare/try || skip "needs a file system that keeps capabilities of files"
as_bare=$(of bare)
root_bare=$(of_root bare)
expect_match "calls that are refused leave them" '^755 chown 1002: status 1, cap_net_raw' "$as_bare"
expect_match "a setuid program" '^4777 chown \+-1:\+-1: status 1, cap_net_raw=ep, 4777$' "$as_bare"
expect_match "root's chown" '^root: 4755 cap_net_raw\+ep open by root, chown: status 0, , 755$' "$root_bare"
expect_match "calls that are allowed take them away" '^777 append: status 0, , 777$' "$as_bare"
for volfile in posix client-stack; do
    sed "s|/srv/export|$BACK|" "$SOURCE_DIR/volfiles/$volfile.vol" >"$VOL"
    for options in "" "-o no_default_permissions" "--kernel-writeback-cache=on"; do
        mount_volfile "$VOL" -o suid $options
        wanted=$as_bare
        # Where the kernel checks no rights it removes them before it asks; a caller that may write
        # to the file could do that anyway.
        [[ $options != *no_default* ]] ||
            wanted=$(sed -E 's/^(777 chown :?1002: status 1, )[^,]*/\1/' <<<"$wanted")
        expect "$volfile $options" "$wanted" "$(of "$MNT")"
        expect "root, $volfile $options" "$root_bare" "$(of_root "$MNT")"
        unmount
    done
done
