#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A running daemon can be asked and told: by root and its own user, from anywhere, and also when the
# mount is stuck.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"

# Of the mount on a path, without looking at it.
socket_of () {
    echo "/run/windlass/$(awk -v path="$1" '$5 == path { dev = $3 } END { print dev }' \
        /proc/self/mountinfo).sock"
}

value_of () {
    "$WINDLASS" counts "$1" | sed -n "s/^$2=//p"
}

need_root
stack test/online,text=hello test/never
mount_volfile "$VOL"
socket=$(socket_of "$MNT")

# What there is to be told.
expect "the socket's mode" "srw------- 0" "$(stat -c '%A %u' "$socket")"
expect "its folder's mode" "drwx------ 0" "$(stat -c '%A %u' /run/windlass)"
commands=$("$WINDLASS" tell "$MNT") || fail "can't list commands"
expect_match "the commands" '^  reload +read the volfile' "$commands"
expect_match "the commands" '^online-1: type test/online$' "$commands"
expect_match "the commands" '^  echo +give back' "$commands"
expect_match "the graph" 'option text hello$' "$("$WINDLASS" tell "$MNT" - graph)"

# A translator by its name, by its type, with input and without.
expect "by name" "text=hello" "$("$WINDLASS" tell "$MNT" online-1 show | grep text)"
expect "by type" "text=hello" "$("$WINDLASS" tell "$MNT" test/online show | grep text)"
head -c 500000 /dev/zero | tr '\0' x >large
expect "a large input" "$(cat large)" "$("$WINDLASS" tell "$MNT" online-1 echo large)"
expect "what a terminal would act on" 'a\x1b[2J\xffb' \
    "$(printf 'a\033[2J\377b' | "$WINDLASS" tell "$MNT" online-1 echo -)"
expect_error 'No data available' "$WINDLASS" tell "$MNT" online-1 echo

# The mount point by other names.
ln -s "$TEST_DIR" link
mkdir "a blank"
mount --bind "$MNT" "a blank"
for name in "$MNT/" mnt link/mnt "link/../${TEST_DIR##*/}/./mnt" "link/a blank"; do
    expect "the process of $name" "pid=$DAEMON" "$("$WINDLASS" counts "$name" | grep '^pid=')"
done
umount "a blank"

# From inside, where every command takes "."; a folder of the mount is not its mount point.
mkdir "$MNT/folder"
ln -s "$MNT" to-mount
(
    cd "$MNT" || fail "can't enter the mount"
    for name in . ./ .// "$MNT/." "$MNT/../${MNT##*/}" "../${MNT##*/}//" "$TEST_DIR/to-mount/."; do
        expect "the process of $name" "pid=$DAEMON" "$("$WINDLASS" counts "$name" | grep '^pid=')"
    done
    for command in stats errors inflight graph tell "top --batch --count 1" "trace stop" \
        "timeline stop" "graph --svg"; do
        # shellcheck disable=SC2086
        said=$("$WINDLASS" $command . 2>&1)
        expect_no_match "the answer to $command" 'mount point' "$said"
    done
    cd folder || fail "can't enter the folder"
    expect "from a folder" "pid=$DAEMON" "$("$WINDLASS" counts .. | grep '^pid=')"
    expect_error "'$MNT/folder' is not a mount point, but in one: '$MNT'" "$WINDLASS" counts .
    expect_match "explain" '^storage/posix|posix' "$("$WINDLASS" explain .)"
    expect_match "explain" '^storage/posix|posix' "$("$WINDLASS" explain ../folder/..)"
) || exit 1

# What is wrong is said.
expect_error "'$BACK' is not a mount point; 'windlass list' shows them" "$WINDLASS" counts "$BACK"
expect_error "nothing of that name" "$WINDLASS" counts nowhere
expect_error "is not a mount point, but in one: '$MNT'" "$WINDLASS" counts "$MNT/some/file"
expect_error "'/proc' is not a Windlass mount, but one of type 'proc'" "$WINDLASS" counts /proc
expect_error \
    "no volume or type 'debug/fault' in the graph of .*there are never-2 \(test/never\), online-1 .*subvolumes never-2 end-volume" \
    "$WINDLASS" fault "$MNT" --show
expect_error "has no command 'nonsense'; there are show, echo" "$WINDLASS" tell "$MNT" online-1 \
    nonsense
expect_error "has no commands, so no 'show'" "$WINDLASS" tell "$MNT" posix show
expect_error \
    "the daemon has no command 'nonsense'; there are counts, .*graph, .*reload, .*commands" \
    "$WINDLASS" tell "$MNT" - nonsense
head -c 1048570 /dev/zero >larger
expect_error "the input has 1048570 bytes" "$WINDLASS" tell "$MNT" online-1 echo larger
for words in "counts" "tell" "tell x y" "fault" "fault x" "fault x --show --clear" "power-cut" \
    "reload x y"; do
    # shellcheck disable=SC2086
    expect_error "^windlass ${words%% *}: .*usage: windlass" "$WINDLASS" $words
done
if [ "$(id -u)" = 0 ]; then
    expect_error "not permitted: the daemon of .* belongs to user 0" user "$WINDLASS" counts "$MNT"
fi

# Counts include open files and a request without an answer. Programs that look into the mount are
# stuck meanwhile.
before=$(value_of "$MNT" open)
exec 7<"$MNT"
expect "what is open" $((before + 1)) "$(value_of "$MNT" open)"
exec 7<&-
wait_until '[ "$(value_of "$MNT" open)" = '"$before ]"
wait_until '[ "$(value_of "$MNT" requests)" = 0 ]'
(cd / && exec timeout -s KILL 60 stat -f "$MNT" >/dev/null 2>&1) &
wait_until '[ "$(value_of "$MNT" requests)" = 1 ]'
expect_match "threads" '^[1-9]' "$(value_of "$MNT" threads)"
for name in "$MNT/." "$MNT/../mnt/" to-mount/; do
    expect "the process of $name, which is stuck" "pid=$DAEMON" \
        "$(timeout 10 "$WINDLASS" counts "$name" | grep '^pid=')"
done
expect_match "memory" '^[1-9][0-9]{5}' "$(value_of "$MNT" rss)"

# The socket of a killed daemon stays; control-user shows that the next daemon of its number
# replaces it.
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
# Its last threads may have the socket a moment longer.
wait_until '"$WINDLASS" counts "$MNT" 2>&1 | grep -q "is gone; mount it again"'
expect_match "where to read why" "; its log is '$LOG'\$" "$("$WINDLASS" errors "$MNT" 2>&1)"
rm "$socket" || fail "there is no socket left" # while the number is still its own
umount -l "$MNT"
wait
stack test/online
mount_volfile "$VOL"
expect_ok "$WINDLASS" counts "$MNT"
socket=$(socket_of "$MNT")
made=$(stat -c '%i %z' "$socket")
unmount
[ "$(stat -c '%i %z' "$socket" 2>/dev/null)" != "$made" ] ||
    fail "'$socket' is still there after the end"
[ ! -L "${socket%.sock}.log" ] || fail "the name of the log is still there"
