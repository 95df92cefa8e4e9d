#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# An open that was answered early is sent when an operation needs it, and else never. A caller that
# would be refused still is, at open; an error that only the late open can find is returned by the
# operation that needs it.
# builds: release tsan debug
. "$(dirname "$0")/../lib.sh"
need_fuse
need_root
need_command setfacl
chmod 755 "$TEST_DIR"
behind=performance/open-behind
counted () { sed -n "s/^$1 *= *//p" "$MNT"/.meta/graphs/active/open-behind-*/private; }

stack $behind
echo hello >"$BACK/file"
mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
stat "$MNT/file" >/dev/null

# Opened, looked at and closed: nothing is sent.
for i in 1 2 3; do stat -L /dev/fd/9 9<"$MNT/file" >/dev/null; done
# The kernel tells of a close later than close(2) returns.
wait_until '[ "$(counted never_sent)" = 3 ]'
expect "opens that were sent" 0 "$(counted sent)"
expect "the content" hello "$(cat "$MNT/file")"
expect "opens that were sent for reading" 1 "$(counted sent)"

# What follows would have the open refused: it is done first.
for what in 'rm "$MNT/file"' 'mv "$MNT/other" "$MNT/file"' 'truncate -s 6 "$MNT/file"' \
    'chmod 0 "$MNT/file"' \
            'mv "$MNT/file" "$MNT/away"' 'setfacl -m u:1:- "$MNT/file"' \
            'touch -d @1 "$MNT/file"'; do
    echo other >"$MNT/other"
    echo hello >"$MNT/file"
    stat "$MNT/file" >/dev/null
    exec 9<"$MNT/file"
    before=$(counted sent)
    eval "$what" || fail "$what"
    expect "opens that were sent for $what" $((before + 1)) "$(counted sent)"
    expect "the content after $what" hello "$(cat <&9)"
    exec 9<&-
    rm -f "$MNT/file" "$MNT/away" "$MNT/other"
done

# An error that only the late open can find: the first use returns it, and all that follow, and the
# close. Another open works.
unmount
stack debug/fault $behind
mount_volfile "$VOL"
echo hello >"$MNT/file"
stat "$MNT/file" >/dev/null
echo 'open -> error EMFILE' >rules
expect_ok "$WINDLASS" fault "$MNT" rules
exec 9<"$MNT/file" || fail "an open isn't answered early"
expect_ok "$WINDLASS" fault "$MNT" --clear
expect "opens that were sent" 0 "$(counted sent)"
expect_ok "$WINDLASS" fault "$MNT" rules
expect_error 'Too many open files' cat <&9
expect_ok "$WINDLASS" fault "$MNT" --clear
expect_error 'Too many open files' cat <&9
exec 9<&-
expect "what another open reads" hello "$(cat "$MNT/file")"
rm "$MNT/file"

# Refused is refused at once: by mode, by an access control list, to write to what runs.
umask 077
cp "$(type -P true)" "$MNT/true"
echo secret >"$MNT/secret"
chmod 711 "$MNT/true"
for i in 1 2; do
    user_status=$(user cat "$MNT/secret" 2>&1)
    expect_match "what a user gets" 'Permission denied' "$user_status"
    user sh -c "exec '$MNT/true'" || fail "what may be executed and not read isn't"
done
chmod 644 "$MNT/secret"
expect "what a user may read" secret "$(user cat "$MNT/secret")"
expect "what a user may read again" secret "$(user cat "$MNT/secret")"
setfacl -m u:65534:- "$MNT/secret"
expect_error 'Permission denied' user cat "$MNT/secret"

# When it ends, nothing is left open below, whatever wasn't sent.
stat "$MNT/secret" >/dev/null
exec 9<"$MNT/secret"
umount -l "$MNT"
exec 9<&-
wait_until "! is_running $DAEMON"
DAEMON=''

# Options: a bad one is refused with its place; lazy-open changes while it is mounted.
sed -i "s|$behind|&\n    option lazy-open never|" "$VOL"
expect_error 'test.vol:11:.*lazy-open' "$WINDLASS" -f "$VOL" "$MNT"
sed -i 's/lazy-open never/lazy-open yes/' "$VOL"
mount_volfile "$VOL"
stat "$MNT/secret" >/dev/null
stat -L /dev/fd/9 9<"$MNT/secret" >/dev/null
expect "opens that were sent, being lazy" 0 "$(counted sent)"
sed -i 's/lazy-open yes/lazy-open no/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
stat -L /dev/fd/9 9<"$MNT/secret" >/dev/null
expect "opens that were sent, not being lazy" 1 "$(counted sent)"
