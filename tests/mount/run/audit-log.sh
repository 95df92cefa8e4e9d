#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass run audit: each run has a log of its own, which it tells, and which no other user could
# have made before. What lies in the place of a log of `windlass new` is neither followed nor written.
. "$(dirname "$0")/../lib.sh"
need_fuse
need_root
export XDG_STATE_HOME=$TEST_DIR/state XDG_RUNTIME_DIR=
chmod 755 "$TEST_DIR"

# log_of SAID: the log that a run has told.
log_of () { sed -n "s/^windlass run: records go to '\\(.*\\)'$/\\1/p" "$1"; }
recorded () { grep -c '"operation":"create".*"path":"/'"$2\"" "$1"; }

# Two runs at once over one directory.
mkfifo go
"$WINDLASS" run audit "$BACK" -- sh -c "touch $BACK/one; cat go" 2>said.one &
first=$!
wait_until '[ -e "$BACK/one" ]'
expect_ok "$WINDLASS" run audit "$BACK" -- touch "$BACK/two" 2>/dev/null
"$WINDLASS" run audit "$BACK" -- touch "$BACK/three" 2>said.three || fail "the second run failed"
echo >go
wait $first || fail "the first run failed"
one=$(log_of said.one)
three=$(log_of said.three)
expect_match "its place" "^$XDG_STATE_HOME/windlass/logs/back-[0-9]+-[0-9]+-[0-9]+\\.audit\\.log$" "$one"
[ "$one" != "$three" ] || fail "two runs have one log"
expect "records" "1 0 1" "$(recorded "$one" one) $(recorded "$one" three) $(recorded "$three" three)"
expect "whose" "700 600" "$(stat -c %a "$XDG_STATE_HOME/windlass/logs" "$one" | xargs)"

# A view of the folder of logs itself, and of one who has no home: the log goes elsewhere.
"$WINDLASS" run audit "$XDG_STATE_HOME" -- touch "$XDG_STATE_HOME/four" 2>said || fail "no run"
four=$(log_of said)
expect_match "elsewhere" '^/var/tmp/windlass-logs-[^/]*/state-.*log$' "$four"
expect "records" 1 "$(recorded "$four" four)"
rm -r "${four%/*}"
mkdir -m 777 "$TEST_DIR/open"
ln -s "$TEST_DIR/open" "$TEST_DIR/strange"
mkdir -m 777 "$TEST_DIR/open/windlass" "$TEST_DIR/open/windlass/logs"
XDG_STATE_HOME=$TEST_DIR/strange "$WINDLASS" run audit "$BACK" -- true 2>said || fail "no run"
expect_match "not where others may write" '^/var/tmp/windlass-logs-' "$(log_of said)"
expect "a folder of others" "" "$(ls "$TEST_DIR/open/windlass/logs")"
rm -r "$(dirname "$(log_of said)")"

# A home of another user, as after sudo, and a link of another user: nothing is made there.
install -d -o 1234 "$TEST_DIR/home"
ln -s "$TEST_DIR/state" "$TEST_DIR/lead"
chown -h 1234 "$TEST_DIR/lead"
for state in home/state lead; do
    XDG_STATE_HOME=$TEST_DIR/$state "$WINDLASS" run audit "$BACK" -- true 2>said || fail "no run"
    expect_match "not where others lead to" '^/var/tmp/windlass-logs-' "$(log_of said)"
    rm -r "$(dirname "$(log_of said)")"
done
expect "a home of another user" "" "$(ls "$TEST_DIR/home")"

# Links of the user's own: one that leads to another user makes nothing there, others are followed.
mkdir "$TEST_DIR/links"
ln -s ../home "$TEST_DIR/links/astray"
ln -s "$TEST_DIR/links/../state" "$TEST_DIR/links/second"
ln -s ./second/ "$TEST_DIR/links/first"
ln -s round "$TEST_DIR/links/round"
mkdir "$TEST_DIR/links/0"
for ((i = 1; i <= 40; i++)); do # each leads through the one before it twice
    ln -s $((i - 1))/../$((i - 1)) "$TEST_DIR/links/$i"
done
for state in astray round 40; do
    XDG_STATE_HOME=$TEST_DIR/links/$state timeout 20 "$WINDLASS" run audit "$BACK" -- true 2>said ||
        fail "no run"
    expect_match "not where a link leads to others" '^/var/tmp/windlass-logs-' "$(log_of said)"
    rm -r "$(dirname "$(log_of said)")"
done
expect "what a link leads to" "" "$(ls "$TEST_DIR/home")"
XDG_STATE_HOME=$TEST_DIR/links/first "$WINDLASS" run audit "$BACK" -- true 2>said || fail "no run"
expect_match "where own links lead" "^$XDG_STATE_HOME/windlass/logs/back-" "$(log_of said)"

XDG_STATE_HOME=$TEST_DIR/links/4 "$WINDLASS" run audit "$BACK" -- true 2>said || fail "no run"
expect_match "where 15 links lead" "^$TEST_DIR/links/0/windlass/logs/back-" "$(log_of said)"

# A relative path counts as none.
mkdir "$TEST_DIR/own"
XDG_STATE_HOME=${TEST_DIR#/}/relative HOME=$TEST_DIR/own "$WINDLASS" run audit "$BACK" -- true \
    2>said || fail "no run"
expect_match "the usual place" "^$TEST_DIR/own/.local/state/windlass/logs/back-" "$(log_of said)"

# A run without a record leaves the folder that other runs share.
XDG_STATE_HOME=$TEST_DIR/shared expect_error "no-such-option" "$WINDLASS" run audit "$BACK" \
    no-such-option=1
expect "a shared folder" logs "$(ls "$TEST_DIR/shared/windlass")"

# Other targets, other names.
"$WINDLASS" run audit "$BACK" log-directory="$TEST_DIR" log-name=mine -- touch "$BACK/five" 2>said ||
    fail "no run"
expect "a log that was named" "$TEST_DIR/mine" "$(log_of said)"
expect "records" 1 "$(recorded mine five)"

# windlass new: beside the directory. A link of another user there leads nowhere.
echo precious >precious
cp precious before
ln -s precious "$BACK.audit.log"
"$WINDLASS" new audit "$BACK" >"$VOL"
expect_error "'back.audit.log' is a symbolic link: remove it" "$WINDLASS" -N -f "$VOL" -l - "$MNT"
rm "$BACK.audit.log"
install -o 1234 -m 644 precious "$BACK.audit.log"
expect_error "'back.audit.log' belongs to user 1234: remove it" "$WINDLASS" -N -f "$VOL" -l - "$MNT"
cmp before precious || fail "the target of a link was written to"
cmp before "$BACK.audit.log" || fail "the file of another user was written to"
rm "$BACK.audit.log"
mount_volfile "$VOL"
touch "$MNT/six"
unmount
expect "records" 1 "$(recorded "$BACK.audit.log" six)"
