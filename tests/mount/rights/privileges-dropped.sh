#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A daemon of root has, in all its threads, no capability that a mount does not need, cannot gain
# others, and cannot start programs, mount, trace or load modules, even if a translator of its own
# tries; but it serves and unmounts.
. "$(dirname "$0")/../lib.sh"
need_root
need_command setpriv

# status FIELD: its values in all threads of the daemon.
status () {
    awk -v "field=$1:" '$1 == field { print $2 }' /proc/"$DAEMON"/task/*/status | sort -u
}

# tries: what each name that test/grab takes for an order comes to.
tries () {
    for name in exec mount ptrace module namespace; do
        mkdir "$MNT/$name" 2>&1 | sed "s/.*: /$name: /"
    done
}

# chown, dac_override, dac_read_search, fowner, fsetid, setgid, setuid, linux_immutable, ipc_lock,
# sys_admin, mknod, setfcap
needed=882042df
(ulimit -e 40) 2>/dev/null || needed=88a042df # and sys_nice
stack test/grab
mount_volfile "$VOL" -L DEBUG
expect_ok mkdir "$MNT/umask" # many threads: each unshares its own
for set in CapPrm CapEff CapBnd; do
    got=$(status $set)
    [ "$(wc -l <<<"$got")" = 1 ] || fail "threads differ in $set: $got"
    expect "more in $set than what is needed" 0 $((0x$got & ~0x$needed))
    expect "what of the needed is there before, and not in $set" 0 \
        $((0x$needed & 0x$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status) & ~0x$got))
done
expect "inheritable and ambient ones" 0 $((0x$(status CapInh) | 0x$(status CapAmb)))
expect "whether others can't be gained" 1 "$(status NoNewPrivs)"
expect_match "the log" 'confine: gave up the capabilities' "$(cat "$LOG")"
if grep -q 'confine: system calls .* are refused' "$LOG"; then
    expect "what a translator gets" \
        "$(printf '%s: Operation not permitted\n' exec mount ptrace module namespace)" "$(tries)"
    expect "the filter, in all threads" 2 "$(status Seccomp)"
    filters=yes
else
    expect_match "why nothing is refused" \
        'confine: no system call is refused: (built without libseccomp|a sanitizer or valgrind needs them)' \
        "$(cat "$LOG")"
fi
kill -TERM "$DAEMON"
wait_until "! is_running $DAEMON"
! is_mounted || fail "it ended, and left its mount"

mount_volfile "$VOL" -L DEBUG --confine=off
expect "whether others can't be gained, with --confine=off" 0 "$(status NoNewPrivs)"
expect_match "a try with --confine=off" '^exec: No such file' "$(tries)"
unmount
expect_error "'confine' must be auto or off, got 'on'" "$WINDLASS" -f "$VOL" --confine=on "$MNT"

# A kernel that takes no filter: the log says so, and the mount works.
if [ -n "${filters-}" ] && command -v python3 >/dev/null; then
    printf '#!/bin/sh\nexec python3 "%s" "%s" "$@"\n' \
        "$(dirname "$0")/no-filters.py" "$WINDLASS" >without
    chmod +x without
    WINDLASS=./without mount_volfile "$VOL"
    expect_match "the log" " W .*system calls that a mount doesn't make can't be refused: " \
        "$(cat "$LOG")"
    unmount
fi
