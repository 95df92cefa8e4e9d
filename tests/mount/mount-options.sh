#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Options of mount(8) and of the program, and what they come to.
. "$(dirname "$0")/lib.sh"
need_root

# Of the mount: its options, then those of the file system.
options () {
    awk -v at="$MNT" '$5 == at { print $6 "," $NF }' /proc/self/mountinfo
}

stack
echo text >"$BACK/file"
for given in "-o ro" "--read-only" "--read-only=on" "-o read-only=on" "-o fuse-mountopts=ro"; do
    # shellcheck disable=SC2086 # words
    mount_volfile "$VOL" $given
    expect "what is read with $given" text "$(cat "$MNT/file")"
    expect_error 'Read-only' touch "$MNT/new"
    expect_error 'Read-only' sh -c "echo >>'$MNT/file'"
    expect_error 'Read-only' rm "$MNT/file"
    expect_error 'Read-only' chmod 600 "$MNT/file"
    expect_error 'Read-only' setfattr -n user.x -v 1 "$MNT/file"
    expect_match "what explain says with $given" '^    nothing may be changed \(read-only\)$' \
        "$("$WINDLASS" explain "$MNT/file")"
    expect_match "where it comes from" '^    option read-only = on \(command line\)$' \
        "$("$WINDLASS" explain "$MNT/file")"
    unmount
done

mount_volfile "$VOL" \
    -o nosuid,nodev,noexec,noatime,x-systemd.automount,_netdev,nofail,defaults,noauto,user,comment=text
for word in nosuid nodev noexec noatime default_permissions allow_other; do
    expect_match "the options" "(^|,)$word(,|\$)" "$(options)"
done
cp "$(type -P true)" "$MNT/true"
expect_error 'Permission denied' "$MNT/true"
expect "what another user reads" text "$(user cat "$MNT/file")"
unmount

mount_volfile "$VOL" \
    -o suid,dev,fsname=other\\,name,log-level=DEBUG,attribute-timeout=0,xlator-option=posix.log-level=TRACE
expect_no_match "the options" '(^|,)no(suid|dev)(,|$)' "$(options)"
expect "the source" other,name "$(findmnt -no SOURCE "$MNT" 2>/dev/null ||
    awk -v at="$MNT" '$5 == at { print $(NF - 1) }' /proc/self/mountinfo)"
expect_match "the type" fuse.windlass "$(stat -f -c %T "$MNT"; grep " $MNT " /proc/self/mountinfo)"
ls "$MNT" >/dev/null
unmount
expect_match "the log" ' T \[.*opendir' "$(cat "$LOG")"

# Which volume is the top, and where translators are found.
stack encryption/rot-13
mount_volfile "$VOL" --volume-name=posix
expect "what is read below rot-13" text "$(cat "$MNT/file")"
unmount
mount_volfile "$VOL" --xlator-option='rot-13-*.decrypt-read=off'
expect "what is read without decryption" text "$(cat "$MNT/file")"
unmount
path=$WINDLASS_XLATOR_PATH
WINDLASS_XLATOR_PATH='' expect_error "type 'encryption/rot-13'" "$BUILD_DIR/src/windlass" check \
    "$VOL"
WINDLASS=$BUILD_DIR/src/windlass WINDLASS_XLATOR_PATH='' mount_volfile "$VOL" \
    --xlator-dir="${path%%:*}"
expect "what is read" grkg "$(cat "$MNT/file")"
unmount
