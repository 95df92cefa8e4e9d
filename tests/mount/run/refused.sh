#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where the system refuses user namespaces, a user's view has a folder of its own, mounted by
# fusermount3: that is told, with the switch, and the folder is gone afterwards. So it is shown in a
# user namespace that permits none below it.
. "$(dirname "$0")/../lib.sh"
need_fuse
let_users_mount
need_command unshare nsenter
chmod 755 "$TEST_DIR"
mkdir -m 777 home dir dir/sub
mkdir -m 700 runtime
chown 65534:65534 runtime
export HOME=$TEST_DIR/home
DIR=$TEST_DIR/dir

# All ids are mapped, so that setuid programs work as ever.
unshare --user --mount sleep 1000 &
keeper=$!
wait_until "[ \"\$(readlink /proc/$keeper/ns/user)\" != \"\$(readlink /proc/self/ns/user)\" ]"
printf '0 0 65536\n' >/proc/$keeper/uid_map
printf '0 0 65536\n' >/proc/$keeper/gid_map
inside () {
    nsenter --user --mount --target $keeper --wdns="$PWD" "$@"
}
inside sh -c 'echo 0 >/proc/sys/user/max_user_namespaces' || skip "needs user namespaces"

run () {
    inside setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$HOME" \
        "XDG_RUNTIME_DIR=$TEST_DIR/runtime" "$WINDLASS" run "$@"
}

expect "where it is" "$TEST_DIR/runtime/windlass/view-N" "$(run rot-13 "$DIR" -- \
    sh -c 'echo hello >"$WINDLASS_MOUNT/file"; echo "$WINDLASS_MOUNT"' 2>said | sed 's/[0-9]*$/N/')"
expect_match "what is told" "refuses a mount namespace \(unshare: .*; user.max_user_namespaces is 0\), so '$DIR' itself stays as it is; the view is in '.*/view-[0-9]+' \(.WINDLASS_MOUNT\)" "$(cat said)"
expect "what is stored" uryyb "$(cat "$DIR/file")"
expect "the current folder, if it is in the directory" "/sub hello" \
    "$(cd "$DIR/sub" && run rot-13 .. -- \
        sh -c 'echo "${PWD#"$WINDLASS_MOUNT"} $(cat ../file)"' 2>/dev/null)"
run rot-13 "$DIR" -- sh -c 'exit 6' 2>/dev/null
expect "the status" 6 $?
expect "what is left" "" "$(ls -A runtime/windlass)"
expect "mounts that are left" "" "$(inside grep runtime/ /proc/self/mountinfo)"

# Where no mount works, no place of a view is told.
expect_match "without the device" "can't mount|there is no view" "$(inside unshare --mount sh -c \
    'mount --bind /dev/null /dev/fuse && exec "$@"' - setpriv --reuid 65534 --regid 65534 \
    --clear-groups env "HOME=$HOME" "XDG_RUNTIME_DIR=$TEST_DIR/runtime" "$WINDLASS" run rot-13 \
    "$DIR" -- true 2>&1 | tee said)"
expect_no_match "what is told" "the view is in" "$(cat said)"
expect "what is left" "" "$(ls -A runtime/windlass)"

kill $keeper
wait $keeper 2>/dev/null
exit 0
