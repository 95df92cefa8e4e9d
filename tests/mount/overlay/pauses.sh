#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Pauses of cluster/overlay: a discard of everything is one rename, however many names there are, and
# what it leaves is what the lowers have. Paths are looked up before the pause, those of a discard as
# those of a commit that moves directories. What hinders a freeze is named at once: the file, and the
# program that uses it, or the command that is under way.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command setfattr flock
NAMES=50

# The renames of the first child, and what the last one does, are as the rules say.
make_volfile () {
    layered "stored=$UPPER" "base=$BACK" | sed '/volume overlay/,$d'
    printf 'volume %s\n    type debug/fault\n    subvolumes %s\nend-volume\n' changes stored lower base
    printf 'volume overlay\n    type cluster/overlay\n    subvolumes changes lower\nend-volume\n'
}
faults () {
    printf '%s\n' "$2" >rules
    expect_ok "$WINDLASS" fault --volume="$1" "$MNT" rules
}
freeze () {
    overlay freeze "$MNT"
}

mkdir -p "$UPPER" "$BACK/dir" "$BACK"/moved/{1..5}
for number in $(seq $NAMES); do echo old >"$BACK/name$number"; done
echo old >"$BACK/dir/file"
echo old >"$BACK/linked"
ln "$BACK/linked" "$BACK/linked-too"
cp -a "$BACK" before
make_volfile >"$VOL"
mount_volfile "$VOL" --entry-timeout=100 --attribute-timeout=100 --negative-timeout=100

# --- a discard of everything ----------------------------------------------------------------------

change () {
    local number
    for number in $(seq $NAMES); do
        if [ $((number % 2)) = 0 ]; then rm "$MNT/name$number"; else echo new >"$MNT/name$number"; fi
        echo new >"$MNT/new$number"
    done
    echo new >"$MNT/dir/file"
    echo new >>"$MNT/linked"
    setfattr -n user.test -v 1 "$MNT"
}
change
number=$(stat -c %i "$MNT")
expect_error "No such file" cat "$MNT/name2"
exec 5<>"$MNT/new1" 6<"$MNT/dir"
faults changes 'rename -> delay 50ms'
said=$(overlay discard "$MNT")
"$WINDLASS" fault --volume=changes "$MNT" --clear >/dev/null
expect_match "the answer" "^$((2 * NAMES + 2)) names discarded; requests waited for [0-9.]+ ms$" \
    "$said"
held=$(sed 's/.*for \([0-9]*\).*/\1/' <<<"$said")
[ "$held" -lt $((2 * NAMES * 50)) ] || fail "requests waited for as long as a rename for each name"
diff -r before "$MNT" || fail "a view without changes differs from its lower"
expect "a name that the kernel knew as missing" old "$(cat "$MNT/name2")"
expect "changes" "" "$(changes)"
expect "the root's number" "$number" "$(stat -c %i "$MNT")"
expect "the root's attributes" "" "$(getfattr -d "$MNT" 2>/dev/null)"
expect "an open file" new "$(cat <&5)"
expect_error "No such file" touch "/proc/$$/fd/6/made"
expect_error "No such file" touch "/proc/self/fd/6/made"
exec 5>&- 6<&-
wait_until work_is_clean
for _ in 1 2 3; do
    change
    expect_match "a further discard" "^$((2 * NAMES + 2)) names discarded" "$(overlay discard "$MNT")"
done
diff -r before "$MNT" || fail "the view differs from its lower after further discards"

# Beside an old graph, which has the old upper, the names go one by one.
change
exec 5<>"$MNT/new1"
rm "$MNT/new1"
sed -i 's/^    type cluster.*/&\n    option owner daemon/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect_error "^windlass overlay freeze: a removed file, which [^ ]+ \([0-9]+\) has open since before the last \
'windlass reload', still uses the graph of then; nothing was frozen" freeze
expect_match "a discard beside an old graph" "^$((2 * NAMES + 1)) names discarded" \
    "$(overlay discard "$MNT")"
diff -r before "$MNT" || fail "the view differs from its lower after a discard beside an old graph"
expect "the open file" new "$(cat <&5)"
exec 5>&-
freezes () { freeze >frozen 2>/dev/null; }
wait_until freezes
change
expect_match "a discard after a freeze" "^$((2 * NAMES + 2)) names discarded" \
    "$(overlay discard "$MNT")"
diff -r before "$MNT" || fail "the view differs from its lower after a freeze and a discard"

# --- a discard of paths ---------------------------------------------------------------------------

clear () {
    "$WINDLASS" fault --volume=changes "$MNT" --clear >/dev/null
}
mapfile -t paths < <(seq -f name%.0f 20)
change
faults changes 'lookup -> delay 50ms'
said=$(overlay discard "$MNT" "${paths[@]}")
clear
expect_match "a discard of paths" "^20 names discarded; " "$said"
held=$(sed 's/.*for \([0-9]*\).*/\1/' <<<"$said")
[ "$held" -lt 1000 ] || fail "requests waited while paths were looked up: $held ms"
for number in 1 2; do expect "name$number" old "$(cat "$MNT/name$number")"; done
expect "the other changes" $((2 * NAMES + 2 - 20)) "$(changes | wc -l)"

# discards_meanwhile CHANGE PATH...: a discard of the paths, which are changed when it has looked all
# of them up but for the last one.
discards_meanwhile () {
    local change=$1 status=0
    shift
    faults changes "lookup path \"*/${*: -1}\" -> hang"
    overlay discard "$MNT" "$@" >discarded 2>&1 &
    wait_until "'$WINDLASS' inflight '$MNT' | grep -q \"now at: .*'changes'\""
    eval "$change" || fail "'$change' beside a discard"
    clear
    wait $! || status=$?
    return $status
}
mkdir "$MNT/made"
for number in 1 2 3 4 5; do echo new >"$MNT/name$number"; done
rm "$MNT/name5"
discards_meanwhile 'rm "$MNT/name1"; mv "$MNT/new1" "$MNT/name2"; rm "$MNT/name3"
    mkdir "$MNT/name3"; echo new >"$MNT/name5"; echo new >"$MNT/made/in"' \
    name1 name2 name3 name4 name5 made new3 || fail "a discard of paths that change: $(cat discarded)"
expect_match "a discard of paths that change" '^7 names discarded' "$(cat discarded)"
for number in 1 2 3 4 5; do
    expect "name$number, changed meanwhile" old "$(cat "$MNT/name$number")"
done
expect "the other changes" $((2 * NAMES - 20)) "$(changes | wc -l)"

# One of them is no change any more: nothing is discarded.
echo new >"$MNT/name1"
discards_meanwhile 'rm "$MNT/new2"' name1 new2 new4 && fail "a discard of what is no change any more"
expect "why" "windlass overlay discard: the view has changed nothing at '/new2'; nothing was discarded" \
    "$(cat discarded)"
expect "the other path" new "$(cat "$MNT/name1")"
overlay discard "$MNT" >/dev/null
diff -r before "$MNT" || fail "the view differs from its lower after discards of paths"

# --- what hinders ---------------------------------------------------------------------------------

# A file with a lock, which stays in the graph before a reload.
unmount
mount_volfile "$VOL" --lock-forwarding=on
echo new >"$MNT/dir/file"
exec 5<>"$MNT/dir/file"
flock 5
sed -i '/option owner daemon/d' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect_error "the file '/dir/file', which [^ ]+ \([0-9]+\) has open since before the last 'windlass \
reload', still uses the graph of then; nothing was frozen" freeze
exec 5>&-
wait_until freezes

# Another command.
echo more | tee "$MNT/fresh" >"$MNT/other"
faults lower 'rename -> hang'
overlay apply "$MNT" fresh other >applied 2>&1 &
applies=$!
wait_until "'$WINDLASS' inflight '$MNT' | grep -q 'now at: .*lower'"
expect_error "'windlass overlay apply /fresh ...', which [^ ]+ \([0-9]+\) has given, is under way" \
    freeze
"$WINDLASS" fault --volume=lower "$MNT" --clear >/dev/null
wait $applies || fail "the apply failed: $(cat applied)"
wait_until freezes

# A hard-linked file, of which a name can't be linked.
echo more >>"$MNT/linked"
faults changes 'link -> error EMLINK'
expect_error "'/linked[^']*' is to get a name in the upper, .*: Too many links; nothing was frozen" \
    freeze
"$WINDLASS" fault --volume=changes "$MNT" --clear >/dev/null
freeze >/dev/null || fail "no freeze of a hard-linked file"

# --- a commit -------------------------------------------------------------------------------------

for number in $(seq $NAMES); do echo new >"$MNT/new$number"; done
for number in {1..5}; do mv "$MNT/moved/$number" "$MNT/moved/new$number"; done
cp -a "$MNT" shown
faults changes 'rename -> delay 20ms'
faults lower 'lookup path */moved* -> delay 50ms'
overlay commit --json "$MNT" >committed || fail "a commit"
held=$(sed -n 's/.*"held_us": *\([0-9]*\).*/\1/p' committed)
[ "$held" -lt 500000 ] || fail "requests waited while a commit has looked up and renamed: $held us"
diff -r shown "$BACK" || fail "the lower differs from the view that was committed"
unmount
expect_no_match "the log" "CRITICAL" "$(cat "$LOG")"
