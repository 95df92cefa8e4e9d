#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass doctor tries a mount, as root and as a user, and leaves nothing; it names what keeps a
# machine, a volfile or a mount from working.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"
let_users_mount
need_command python3 setpriv unshare

mkdir -m 1777 tmp
chmod 755 "$TEST_DIR"
export TMPDIR=$TEST_DIR/tmp
device='mount -t tmpfs none room && mknod -m 666 room/fuse c 10 229 &&
    mount --bind room/fuse /dev/fuse'
mkdir room

# doctor STATUS ARGUMENT...: what it says is in $said. A mount that a busy machine keeps from
# answering is looked at again.
doctor () {
    local status=$1 got
    shift
    for _ in 1 2 3; do
        said=$("${as[@]}" "$WINDLASS" doctor "$@" 2>&1)
        got=$?
        [ "$status" = 0 ] && grep -q 'not answer within 2 seconds' <<<"$said" || break
    done
    expect "the exit status of doctor $*, which said: $said" "$status" $got
    expect "what is left behind by doctor $*" '' "$(ls tmp)"
}

# --- a machine ---
as=()
doctor 0
expect_match "a mount by root" '^ok +a mount +mounted, written, read and unmounted; requests' "$said"
expect_match "its ACLs" '^ok +ACLs +a file of the mount takes one' "$said"
expect_match "the sum" '^0 problems, [0-9]+ notes?: nothing keeps a mount from working' "$said"
expect "words at the beginning of a line" '' \
    "$(sed '/^$/,$d' <<<"$said" | grep -Ev '^(ok|note|problem|   ) ')"

# Root does not take a folder that a user could replace, by the name of one above it. This one could
# not be used.
mkdir -p theirs/tmp
chown 65534 theirs
mount --bind theirs/tmp theirs/tmp
mount -o remount,bind,ro theirs/tmp
as=(env "TMPDIR=$PWD/theirs/tmp")
doctor 0
expect_match "with a folder of another user" '^ok +a mount ' "$said"
umount theirs/tmp

as=(unshare -m bash -c "$device && exec setpriv --reuid 65534 --regid 65534 --clear-groups \"\$@\"" -)
doctor 0
expect_match "a mount by a user" '^ok +a mount +mounted, .*; requests .*, passthrough off' "$said"
expect_match "what a user lacks" '^note +passthrough +not for an ordinary user' "$said"
expect_match "a user's namespaces" '^ok +user namespaces ' "$said"

# No switch tells of this refusal; windlass run meets it.
mkdir all
as=(unshare -m bash -c "$device && mount --rbind / all &&
    exec chroot all setpriv --reuid 65534 --regid 65534 --clear-groups \"\$@\"" -)
doctor 0
expect_match "a user's namespaces in a chroot" \
    '^note +user namespaces +refused \(unshare: Operation not permitted\): a chroot' "$said"

as=(unshare -m bash -c 'mount --bind /dev/null /dev/fuse && exec "$@"' -)
doctor 1
expect_match "the device" '^problem +/dev/fuse +.* is not the device of FUSE' "$said"
expect_match "the mount" '^problem +a mount +can.t mount' "$said"
expect_match "the cost" '^ +costs: nothing can be mounted' "$said"

as=(setpriv --bounding-set -sys_admin)
doctor 1 --no-mount
expect_match "the capability" '^problem +user +root has no CAP_SYS_ADMIN' "$said"
expect_no_match "the mount" 'mounted,' "$said"

as=()
doctor 0 --json
python3 - "$said" <<'END' || fail "the JSON: $said"
import json, sys
told = json.loads (sys.argv[1])
assert told["format"] == 1 and told["works"] is True
checks = {check["name"]: check for check in told["checks"]}
assert checks["a mount"]["state"] == "ok" and checks["a mount"]["costs"] is None
assert {check["state"] for check in told["checks"]} <= {"ok", "note"}
END

# A signal ends it after the mount is gone. It comes while doctor waits for the root to be opened.
stack debug/delay-gen,enable=opendir,delay-percentage=100,delay-duration=2000000
"$WINDLASS" doctor "$VOL" >/dev/null 2>&1 &
doctor=$!
wait_until 'ls tmp/*/pid >/dev/null 2>&1'
kill -TERM $doctor
wait $doctor
expect "its status" $((128 + 15)) $?
expect "what is left after a signal" '' "$(ls tmp)"

# --- a volfile ---
stack encryption/rot-13
doctor 0 "$VOL"
expect_match "the directory" "^ok +directory +$BACK of volume 'posix' is on " "$said"
expect_match "the mount" '^ok +a mount of it +mounted read-only' "$said"
stack system/posix-acl
doctor 0 "$VOL"
expect_match "who decides" "^note +rights +volume 'posix-acl-1' .* only with acl=translator" "$said"
stack encryption/rot-13
sed 's/type encryption/type encription/' "$VOL" >bad.vol
doctor 1 bad.vol
expect_match "the error" '^problem +volfile +bad.vol:6:[0-9]+: ' "$said"
sed "s|directory .*|directory $TEST_DIR/nowhere|" "$VOL" >gone.vol
doctor 1 gone.vol
expect_match "what mends it" "^ +mend: +mkdir $TEST_DIR/nowhere" "$said"
doctor 1 nothing.vol
cat >remote.vol <<END
volume far
    type protocol/client
    option remote-host 127.0.0.1
    option remote-subvolume /brick
end-volume
END
doctor 0 remote.vol
expect_match "what is not tried" "^ok +a mount of it +not tried: volume 'far'" "$said"
doctor 64 "$BACK"
doctor 64 a b
mkfifo pipe
as=(timeout 10)
doctor 64 pipe
expect_match "a pipe that nobody writes to" "'pipe' is neither a file nor a mount point" "$said"
as=()

# --- a mount ---
stack debug/fault
mount_volfile "$VOL"
doctor 0 "$MNT"
for row in 'mount +it answers' "program +process $(cat pid) runs " 'errors +none' \
    "log +$LOG, level INFO" 'requests +none is older' 'kernel +FUSE 7\..* passthrough o' \
    'watchdog +a request without an answer for 30 s'; do
    expect_match "a row of a mount" "^ok +$row" "$said"
done
printf 'create -> error EIO\nstatfs -> hang\n' >rules
expect_ok "$WINDLASS" fault "$MNT" rules
expect_error 'Input/output' touch "$MNT/new"
stat -f "$MNT" >stat.log 2>&1 &
waiting=$!
wait_until '[ -n "$("$WINDLASS" inflight "$MNT")" ]'
doctor 1 "$MNT"
expect_match "a stuck mount" '^problem +mount +it does not answer within 2 seconds' "$said"
expect_match "errors" '^note +errors +1 so far' "$said"
expect_match "which" "^ +mend: +which: windlass errors $MNT" "$said"
expect_ok "$WINDLASS" fault "$MNT" --clear
wait $waiting
doctor 0 "$MNT"
kill -9 "$(cat pid)"
wait_until '! is_running "$(cat pid)"'
doctor 1 "$MNT"
expect_match "a dead mount" '^problem +mount +its daemon is gone' "$said"
expect_match "what to do" "^ +mend: +windlass umount $MNT" "$said"
expect_ok "$WINDLASS" umount "$MNT"
DAEMON=''
