#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kill -9 of the daemon in the midst of a commit that moves renamed directories: the next mount
# shows the same, also if it is read-only, and a commit there makes it all. A read-only mount that
# would lack a directory is refused.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command setfattr
listing () {
    (cd "$1" && find . -mindepth 1 -printf '%p %y %m %l\n' | sort &&
        find . -type f -exec md5sum {} + | sort -k 2)
}

overlay_volfile
cp "$VOL" bare.vol
sed 's|^volume overlay|volume slow-changes\n    type debug/fault\n    subvolumes changes\nend-volume\
volume slow-lower\n    type debug/fault\n    subvolumes lower\nend-volume\n&|
    s|subvolumes changes lower|subvolumes slow-changes slow-lower|' bare.vol >"$VOL"

# killed_at VOLUME RULE [COMMAND...]: the daemon is killed while a request of the commit hangs.
killed_at () {
    local shown
    rm -rf "$UPPER" "$BACK"
    mkdir -p "$UPPER" "$BACK"/{x/y/z,one,two,gone}
    for name in x/f x/y/g x/y/z/h one/1 two/2 gone/c; do echo "$name" >"$BACK/$name"; done
    mount_volfile "$VOL"
    mv "$MNT/x" "$MNT/p"
    mv "$MNT/p/y" "$MNT/y"
    mv "$MNT/one" "$MNT/tmp"
    mv "$MNT/two" "$MNT/one"
    mv "$MNT/tmp" "$MNT/two"
    rm -r "$MNT/gone"
    mv "$MNT/y/z" "$MNT/gone"
    echo changed >>"$MNT/p/f"
    mkdir "$MNT/x"
    echo new >"$MNT/x/f"
    shown=$(listing "$MNT")
    echo "$2 -> hang" >rules
    "$WINDLASS" tell "$MNT" "$1" rules rules >said || fail "a rule: $2"
    overlay commit "$MNT" >killed 2>&1 &
    local command=$!
    hangs () { "$WINDLASS" tell "$MNT" "$1" show | grep -q 'waiting 1'; }
    wait_until 30 "hangs $1"
    kill -9 "$DAEMON"
    wait "$command" && fail "a commit of a daemon that was killed: $(cat killed)"
    umount -l "$MNT"
    wait_until "! is_running $DAEMON"
    find "$BACK" -printf '%P %i %T@\n' | sort >before
    mount_volfile bare.vol -o ro
    expect "the read-only view after a kill at: $2" "$shown" "$(listing "$MNT")"
    unmount
    find "$BACK" -printf '%P %i %T@\n' | sort | diff before - || fail "a read-only mount, changes"
    "${@:3}"
    mount_volfile bare.vol
    expect "the view after a kill at: $2" "$shown" "$(listing "$MNT")"
    expect "no temporary names after a kill at: $2" "" "$(find "$BACK" -name '.windlass-apply.*')"
    overlay commit "$MNT" >again 2>&1 || fail "a commit after a kill at '$2': $(cat again)"
    expect "the view after it" "$shown" "$(listing "$MNT")"
    expect "the directory after it" "$shown" "$(listing "$BACK")"
    expect "changes after it" "" "$(changes)"
    expect "no temporary names" "" "$(find "$BACK" -name '.windlass-*')"
    unmount
}

# torn: as after a power cut, when the old name of a directory is durable, and so is the redirect to
# its new one. A mount that is read-only can't finish that.
torn () {
    mv "$(find "$BACK" -path '*/.windlass-commit.*/f' -printf '%h\n')" "$BACK/x"
    expect_error "it moved the directory '/x' of volume 'lower'.*mount the view once without '-o ro'" \
        "$WINDLASS" -f bare.vol -l torn.log -o ro "$MNT"
    ! is_mounted || fail "it is mounted"
    mount_volfile bare.vol
    unmount
    mount_volfile bare.vol -o ro
    expect "the read-only view after a mount" "$shown" "$(listing "$MNT")"
    unmount
}

# No request hangs in a pause; graph/test_overlay_commit has those.
killed_at slow-lower "mknod nth 1"         # a new object is made
killed_at slow-lower "fsyncdir path / nth 1" torn # directories have their temporary names
killed_at slow-lower "rmdir nth 1"         # the view has removed something
killed_at slow-lower "fsyncdir path / after 3" # renamed directories have their new names
