#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# fs.protected_regular, protected_fifos, protected_symlinks and protected_hardlinks count on a mount
# as on the bare directory. These settings belong to the whole machine: the test sets them as
# distributions do, and then restores them.
# alone
. "$(dirname "$0")/../lib.sh"

need_root
need_command python3

keys="fs.protected_regular fs.protected_fifos fs.protected_symlinks fs.protected_hardlinks"
before=$(sysctl $keys 2>/dev/null) || skip "there is no fs.protected_regular"
restore () { # keeps the exit status, which cleanup reports
    local status=$?
    sysctl -qw $(tr -d ' ' <<<"$before")
    return $status
}
trap 'restore; cleanup' EXIT

lay_out () { # FOLDER MODE
    mkdir -p "$1"
    chown 2000:65534 "$1"
    chmod "$2" "$1"
    (
        cd "$1"
        echo text >regular && chmod 666 regular
        mkfifo fifo && chmod 666 fifo
        echo text >closed && chmod 644 closed
        echo text >setuid && chmod 4777 setuid
        ln -s regular link
        ln -s /nowhere dangling
        chown -h 1000:1000 regular fifo closed link dangling
    )
}
chmod 755 "$TEST_DIR" "$BACK" "$MNT"
for mode in 1777 1770 0777; do
    lay_out "$BACK/dir-$mode" $mode
done

mkdir "$BACK/mine"
chown 65534:65534 "$BACK/mine"

attempts () { # FOLDER
    user python3 - "$1" <<'EOF'
import errno, os, sys
def attempt (what, call):
    try:
        result = call ()
        print (what, "ok")
        if result is not None:
            os.close (result)
    except OSError as error:
        print (what, errno.errorcode[error.errno])
for mode in ("1777", "1770", "0777"):
    os.chdir (os.path.join (sys.argv[1], "dir-" + mode))
    for name in ("regular", "fifo", "link", "dangling"):
        attempt (f"{mode} {name} O_CREAT",
                 lambda: os.open (name, os.O_CREAT | os.O_RDWR | os.O_NONBLOCK))
        attempt (f"{mode} {name}", lambda: os.open (name, os.O_RDWR | os.O_NONBLOCK))
        attempt (f"{mode} {name} O_CREAT, O_NOFOLLOW",
                 lambda: os.open (name, os.O_CREAT | os.O_NOFOLLOW | os.O_RDWR | os.O_NONBLOCK))
    for name in ("regular", "closed", "setuid", "fifo", "link"):
        attempt (f"{mode} link {name}",
                 lambda: os.link (name, "../mine/another", follow_symlinks = False))
        attempt (f"{mode} link {name}, unlink", lambda: os.unlink ("../mine/another"))
EOF
}

hard_links () {
    grep -E '^[0-9]+ link [a-z]+,? ' | grep -v O_CREAT
}

for values in "0 0 0 0" "1 1 1 1" "2 2 1 1"; do
    read -r regular fifos symlinks hardlinks <<<"$values"
    sysctl -qw fs.protected_regular=$regular fs.protected_fifos=$fifos \
        fs.protected_symlinks=$symlinks fs.protected_hardlinks=$hardlinks 2>/dev/null ||
        skip "fs.protected_* can't be set here"
    bare=$(attempts "$BACK")
    case $values in
        0*) expect_no_match "a bare directory without protection" 'regular O_CREAT EACCES' \
            "$bare" ;;
        *) expect_match "a bare directory with protection" '1777 regular O_CREAT EACCES' "$bare" ;;
    esac
    for options in "" --exclusive --kernel-writeback-cache=on; do
        stack
        mount_volfile "$VOL" $options
        for _ in first again; do
            attempts "$MNT" >got
            diff <(echo "$bare") got >differs ||
                fail "with $values, options '$options': $(cat differs)"
        done
        unmount
    done
    # Where the kernel checks no rights it drops the sticky bit: only hard links are protected, by
    # storage that acts as the caller, or by the translator that decides.
    for options in "-o no_default_permissions" --acl=translator; do
        stack
        [ "$options" != --acl=translator ] || stack system/posix-acl
        # shellcheck disable=SC2086 # two words
        mount_volfile "$VOL" $options
        attempts "$MNT" >got
        expect "hard links with $values, $options" "$(hard_links <<<"$bare")" "$(hard_links <got)"
        expect_match "a file with $values, $options" '1777 regular O_CREAT ok' "$(cat got)"
        unmount
    done
done

# The present value counts, not the one at the mount.
for options in "" --acl=translator; do
    for started in 0 1; do
        sysctl -qw fs.protected_hardlinks=$started
        # shellcheck disable=SC2086 # none is none
        mount_volfile "$VOL" $options
        for now in 1 0 1; do
            sysctl -qw fs.protected_hardlinks=$now
            attempts "$BACK" | hard_links >bare
            attempts "$MNT" | hard_links >got
            diff bare got >differs ||
                fail "with $now, at the mount $started, options '$options': $(cat differs)"
        done
        unmount
    done
done
