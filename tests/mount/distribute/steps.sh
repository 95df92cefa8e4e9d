#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick that is killed at each step of a rename of a file: each name then leads to the whole file
# or to nothing, at least one leads to it, and the rename can be done again. Both names stay only if
# the old one could not be removed any more, or if the brick that was lost had the rename itself and
# the old name's only linkto. Of a rename that waits, inflight, explain, a state dump and gdb name
# the step.
. "$(dirname "$0")/../brick/lib.sh"

need_command getfattr setpriv
for name in a b; do
    brick $name
done
distribute_volfile all.vol a b
sed "s/^volume c-/volume w-/" all.vol >"$VOL.clients"
{
    sed '/^volume all/,$d' "$VOL.clients"
    for name in a b; do
        printf 'volume c-%s\n    type debug/fault\n    subvolumes w-%s\nend-volume\n' $name $name
    done
    sed -n '/^volume all/,$p' "$VOL.clients"
} >"$VOL"
mount_volfile "$VOL" -o allow_other
mkdir "$MNT/dir"
chown 65534 "$MNT/dir"

# name_on BRICK: sets $name to a new name with a hash of that brick.
n=0
name_on () {
    until
        n=$((n + 1)) name=file$n
        [ "$(getfattr --only-values -n "dht.file.hashed-subvol.$name" "$MNT/dir")" = "c-$1" ]
    do :; done
}

# hang_at STEP BRICK RULE: begins the rename of $old to $new, and waits until the step STEP waits
# for the brick. Own requests have the uid 0, those of the caller 65534.
hang_at () {
    echo "$3 -> hang" >rules
    expect_ok "$WINDLASS" fault --volume "c-$2" "$MNT" rules
    user python3 -c 'import os, sys; os.rename (*sys.argv[1:])' "$MNT/dir/$old" "$MNT/dir/$new" \
        2>/dev/null &
    rename=$!
    wait_until '"$WINDLASS" inflight "$MNT" | grep -q "^    runs:      rename of .all., step '"$1"'$"' &&
        wait_until '"$WINDLASS" inflight "$MNT" | grep -q "hangs, by the rule"'
}

go_on () {
    expect_ok "$WINDLASS" fault --volume "c-$1" "$MNT" --clear
    wait $rename
}

content () {
    cat "$MNT/dir/$1" 2>&1
}

absent='cat: .*No such file or directory'

# killed_at STEP BRICK RULE
killed_at () {
    local lines at="a brick that was killed at step '$1': "
    hang_at "$@"
    brick_kill "$2"
    go_on "$2"
    lines=$(wc -l <"$LOG")
    brick_start "$2"
    wait_until 'tail -n +$((lines + 1)) "$LOG" | grep -q " connected to brick .*:'"$2"'$"'
    said="$(content "$old") $(content "$new")"
    expect_match "${at}the names" \
        "^(content of $old|$absent) (content of $old|content of $replaced|$absent)$" "$said"
    expect_match "${at}one of the names" "content of $old" "$said"
    if [ "$MNT/dir/$old" -ef "$MNT/dir/$new" ]; then
        expect_match "when both names stay" '^(clean prepare|rename prepare_again)$' "$1 $prepare"
        expect_ok user rm "$MNT/dir/$old"
    elif [ -e "$MNT/dir/$old" ]; then
        expect_ok user mv "$MNT/dir/$old" "$MNT/dir/$new"
    fi
    expect "${at}the new name" "content of $old" "$(content "$new")"
    expect_match "${at}the old name" 'No such file' "$(content "$old")"
    expect_ok python3 "$SOURCE_DIR/tests/mount/distribute/bricks.py" a.d b.d
}

# The file is on its hashed brick a, and the new name has a hash of b.
prepare () {
    name_on a
    old=$name
    name_on b
    new=$name replaced=none
    user sh -c "echo content of $old >'$MNT/dir/$old'"
}

# The file has been renamed before: it is on a, and both names have a hash of b.
prepare_again () {
    prepare
    expect_ok user mv "$MNT/dir/$old" "$MNT/dir/$new"
    old=$new
    name_on b
    new=$name
    user sh -c "echo content of $old >'$MNT/dir/$old'"
}

# The file, and the one that is replaced, are on a; the new name has a hash of b.
prepare_in_place () {
    prepare
    expect_ok user mv "$MNT/dir/$old" "$MNT/dir/$new"
    replaced=$old
    name_on a
    old=$name
    user sh -c "echo content of $old >'$MNT/dir/$old'"
}

while read -r prepare brick rule step; do
    $prepare
    killed_at "$step" "$brick" "${rule//_/ }"
done <<'STEPS'
prepare a entrylk lock
prepare a lookup_uid_0 check
prepare b mknod make linkto of old name
prepare a link link
prepare b rename rename
prepare a unlink clean
prepare a stat_uid_0 stat
prepare_again b rename rename
prepare_in_place b unlink unlink linkto of new name
prepare_in_place a rename rename
prepare_in_place b mknod make linkto of new name
STEPS

renamer () {
    "$WINDLASS" inflight "$MNT" | sed -n 's/^    process:   python3 (\([0-9]*\)), .*$/\1/p'
}

# What names the step of a rename that waits. A signal does not end it any more: the link is made.
prepare
hang_at link a link
pid=$(renamer)
expect_match "explain" '^    runs rename: step link$' "$("$WINDLASS" explain "$MNT/dir/$old")"
expect_match "a state dump" '^step=link$' "$(cat "$("$WINDLASS" tell "$MNT" - statedump)")"
expect_match "JSON" '"step": "link", "undoes": false' "$("$WINDLASS" inflight "$MNT" --json)"
if command -v gdb >/dev/null; then
    echo 'xl frames' >script
    RUN="gdb -nx -batch -x script -p $DAEMON" "$WINDLASS" >live 2>&1
    expect_match "gdb" "^ *rename at all .*, step link$" "$(cat live)"
fi
kill "$pid"
go_on a
expect_match "after a signal at step link" 'No such file' "$(content "$old")"
expect "after a signal at step link" "content of $old" "$(content "$new")"

# A signal while it waits for a lock.
prepare
hang_at lock a entrylk
kill "$(renamer)"
wait $rename
wait_until '[ "$("$WINDLASS" inflight "$MNT")" = "no request waits" ]'
expect_ok "$WINDLASS" fault --volume c-a "$MNT" --clear
expect "after a signal at step lock" "content of $old" "$(content "$old")"
expect_match "after a signal at step lock" 'No such file' "$(content "$new")"

# 100 signals in the middle of renames: each is done or not done.
user python3 - "$MNT/dir/$old" "$MNT/dir/$new" <<'PYTHON' || fail "signals"
import os, signal, sys, time
names, came = sys.argv[1:], 0

def count (*_):
    global came
    came += 1

signal.signal (signal.SIGUSR1, count)
parent, content = os.getpid (), open (names[0]).read ()
child = os.fork ()
while child == 0:
    os.kill (parent, signal.SIGUSR1)
    time.sleep (0.003)
while came < 100:
    try:
        os.rename (*names)
    except InterruptedError:
        pass
    old, new = map (os.path.exists, names)
    assert old != new, names
    if new:
        names.reverse ()
    assert open (names[0]).read () == content
os.kill (child, signal.SIGKILL)
PYTHON
expect_ok python3 "$SOURCE_DIR/tests/mount/distribute/bricks.py" a.d b.d
