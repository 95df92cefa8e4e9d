#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Options of mount(8) and of the program, and what they come to.
. "$(dirname "$0")/../lib.sh"
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

# Options of mount.glusterfs that change nothing here.
inert=transport=tcp,fetch-attempts=3,volfile-check=yes,process-name=home
inert+=,mem-accounting,global-threading,io-engine=auto,localtime-logging,halo-max-latency=5
inert+=,halo-max-replicas=2,halo-min-replicas=2,root-squash=no,no-root-squash=yes,resolve-gids
inert+=,event-history=on,thin-client,invalidate-limit=0,fuse-flush-handle-interrupt=yes
inert+=,fuse-dev-eperm-ratelimit-ns=1000
: >"$LOG"
mount_volfile "$VOL" -o "$inert,lazyatime,acl,selinux,oom-score-adj=500"
expect "how likely the kernel ends it" 500 "$(cat "/proc/$DAEMON/oom_score_adj")"
for word in $(tr , ' ' <<<"$inert"); do
    name=${word%%=*}
    expect_match "the log" "option '(fuse-)?${name#fuse-}' does nothing here: has no effect" \
        "$(cat "$LOG")"
done
unmount
mount_volfile "$VOL" --oom-score-adj=-5
[ "$(cat "/proc/$DAEMON/oom_score_adj")" = -5 ] ||
    expect_match "the log" "'oom-score-adj' is not in force, got '-5': .*CAP_SYS_RESOURCE" \
        "$(cat "$LOG")"
unmount

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
