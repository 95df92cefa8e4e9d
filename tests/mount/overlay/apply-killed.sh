#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kill -9 of the daemon in the midst of an apply: the names that it has made in the directory below
# are shown by no view, and the next mount removes them, but no others that look like them. The apply
# is given again then.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
listing () {
    (cd "$1" && find . -mindepth 1 -printf '%p %y %m %l\n' | sort &&
        find . -type f -exec md5sum {} + | sort -k 2)
}
temporaries () { # DIR: names that an apply makes, but for those of somebody else
    find "$1" -name '.windlass-apply.*' ! -name '*.0123456789abcdef' ! -name '*.mine'
}

overlay_volfile
cp "$VOL" bare.vol
sed 's|^volume overlay|volume slow\n    type debug/fault\n    subvolumes lower\nend-volume\n&|
    s|subvolumes changes lower|subvolumes changes slow|' bare.vol >"$VOL"

# killed_at RULE: the daemon is killed while a request of the apply hangs.
killed_at () {
    local shown command
    rm -rf "$UPPER" "$BACK"
    mkdir -p "$UPPER" "$BACK"/{dir/again,gone,kept}
    for name in file dir/old dir/again/below gone/one kept/two; do echo "$name" >"$BACK/$name"; done
    echo mine >"$BACK/.windlass-apply.mine"
    echo mine >"$BACK/dir/.windlass-apply.0123456789abcdef"
    mount_volfile "$VOL"
    echo changed >>"$MNT/file"
    echo changed >>"$MNT/dir/old"
    rm -r "$MNT/gone" "$MNT/dir/again"
    echo "a file" >"$MNT/dir/again"
    mkdir -p "$MNT/made/in"
    echo new >"$MNT/made/in/file"
    shown=$(listing "$MNT")
    echo "$1 -> hang" >rules
    "$WINDLASS" tell "$MNT" slow rules rules >said || fail "a rule: $1"
    overlay apply "$MNT" / >killed 2>&1 &
    command=$!
    wait_until 30 "'$WINDLASS' tell '$MNT' slow show | grep -q 'waiting 1'"
    [ -n "$(temporaries "$BACK")" ] || fail "no temporary name at: $1"
    expect "temporary names that the view shows while it applies, at: $1" "" "$(temporaries "$MNT")"
    kill -9 "$DAEMON"
    wait "$command" && fail "an apply of a daemon that was killed: $(cat killed)"
    umount -l "$MNT"
    wait_until "! is_running $DAEMON"

    [ -n "$(temporaries "$BACK")" ] || fail "no temporary name after a kill at: $1"
    mount_volfile bare.vol -o ro
    expect "the read-only view after a kill at: $1" "$shown" "$(listing "$MNT")"
    unmount
    [ -n "$(temporaries "$BACK")" ] || fail "a read-only mount has removed names"
    mount_volfile bare.vol
    expect "the view after a kill at: $1" "$shown" "$(listing "$MNT")"
    expect "temporary names after a mount, at: $1" "" "$(temporaries "$BACK")"
    expect "names of others" "mine mine" \
        "$(cat "$BACK/.windlass-apply.mine" "$BACK/dir/.windlass-apply.0123456789abcdef" | xargs)"
    overlay apply "$MNT" / >again 2>&1 || fail "an apply after a kill at '$1': $(cat again)"
    expect "the view after an apply" "$shown" "$(listing "$MNT")"
    expect "the directory after an apply" "$shown" "$(listing "$BACK")"
    expect "changes after an apply" "" "$(changes)"
    unmount
}

killed_at "writev nth 1"   # an object is made
killed_at "fsync nth 2"    # one is whole
killed_at "rename nth 1"   # none has its name
killed_at "rename nth 2"   # one has
killed_at "fsyncdir after 2" # all have, and a directory that was replaced has a temporary name
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
