#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kill -USR1 writes a state dump: GlusterFS's sections in its order, with the volumes' names; an
# options file selects the sections and the folder.
# builds: tsan debug
. "$(dirname "$0")/../lib.sh"

# dump FOLDER: makes one, and prints its name.
dump () {
    rm -f "$1/windlassdump.$DAEMON.dump."*
    kill -USR1 "$DAEMON"
    # It is written beside it, with a longer name.
    wait_until "compgen -G '$1/windlassdump.$DAEMON.dump.*' | grep -E '[.]dump[.][0-9]+(-[0-9]+)?$' >found"
    cat found
}

value_of () { # FILE SECTION KEY
    awk -v want="[$2]" -v key="$3" \
        '/^\[/ { on = $0 == want }
        on && index ($0, key "=") == 1 { print substr ($0, length (key) + 2); exit }' \
        "$1"
}

need_root
echo hello >"$BACK/file"
echo 'open path "/file" -> hang' >rules
stack encryption/rot-13 "debug/fault,rules=$TEST_DIR/rules" encryption/rot-13
mount_volfile "$VOL"
run=$(dirname "$("$WINDLASS" --print-statedumpdir)/.")
echo more >"$MNT/open" # known
exec 7<"$MNT/open"
cat "$MNT/file" >/dev/null 2>&1 &
reader=$!
wait_until '"$WINDLASS" inflight "$MNT" | grep -q "open of /file"'
# Who has his answer goes on while the request ends, so there may be others for a moment.
wait_until 'file=$(dump "$run"); ! grep -q "callpool[.]stack[.]2" "$file"'
expect "whose it is" "-rw------- 0" "$(stat -c '%A %u' "$file")"
expect_match "its name" "/windlassdump\.$DAEMON\.dump\.[0-9]+(-[0-9]+)?$" "$file"

# The order of the reference; sections that there may be any number of are counted once.
expect "the sections" "mallinfo
global.glusterfs - Memory usage
mempool
iobuf.global
global.callpool
global.callpool.stack.1
global.callpool.stack.1.frame.1
xlator.mount.fuse.fuse.priv
xlator.mount.fuse.itable
active graph - 1
xlator.encryption.rot-13.rot-13-3.priv
xlator.debug.fault.fault-2.priv
xlator.encryption.rot-13.rot-13-1.priv
xlator.storage.posix.posix.priv" "$(sed -n 's/^\[\(.*\)\]$/\1/p' "$file" |
    grep -Ev 'itable\.(active|lru)|inodectx|fdctx|fuse\.fd')"
expect_match "when it began" '^DUMP-START-TIME: [-0-9]+ [0-9:.]+ \+0000$' "$(head -n 1 "$file")"
expect_match "when it ended" '^DUMP-END-TIME: ' "$(tail -n 1 "$file")"
expect "the request" "open /file 0" \
    "$(for key in op path uid; do value_of "$file" global.callpool.stack.1 $key; done | xargs)"
expect "its process" "cat ($reader)" "$(value_of "$file" global.callpool.stack.1 process)"
expect "its frame" "fault-2 0 bridge_open_wind" \
    "$(for key in translator complete wind_from; do
        value_of "$file" global.callpool.stack.1.frame.1 $key; done | xargs)"
expect_match "what it waits for" 'a release: it hangs' \
    "$(value_of "$file" global.callpool.stack.1.frame.1 waits_for)"
expect_match "the inodes" '^[1-9]' "$(value_of "$file" xlator.mount.fuse.itable active_size)"
expect_match "one of them" '^[1-9] \([a-z]+\)$' \
    "$(value_of "$file" xlator.mount.fuse.itable.active.1 ia_type)"
expect_match "what storage keeps with one" '^[1-9][0-9]*$' \
    "$(value_of "$file" xlator.storage.posix.posix.inodectx.1 ino)"
expect_match "what it keeps with an open file" '^[0-9]+$' \
    "$(value_of "$file" xlator.storage.posix.posix.fdctx.1 descriptor)"

# Files of .meta are not of the graph that is dumped.
exec 5<"$MNT/.meta/version" 6<"$MNT/.meta"
file=$(dump "$run")
expect "opened files with those in .meta" 3 "$(grep -c '^\[xlator.mount.fuse.fd[.]' "$file")"
exec 5<&- 6<&-

# Only what is wanted, elsewhere.
mkdir other
printf 'all=no\ncallpool=yes\npath=%s\nnonsense=maybe\n' \
    "$TEST_DIR/other" >"$run/windlassdump.$DAEMON.options"
file=$(dump "$TEST_DIR/other")
rm "$run/windlassdump.$DAEMON.options"
expect "only requests" "global.callpool active" \
    "$(sed -n 's/^\[\([a-z.]*\).*\]$/\1/p' "$file" | grep -v stack | tr '\n' ' ' | sed 's/ $//')"
expect_match "what is ignored" "'nonsense=maybe' is ignored: a line is yes or no for all, mem" \
    "$(cat "$LOG")"
kill $reader
exec 7>&-
wait

# Asked for by its mount point. The last ten of a daemon stay, and a file that another put there.
for _ in {1..12}; do
    "$WINDLASS" statedump "$MNT" >>made || fail "statedump: exit status $?"
    [ "$(wc -l <made)" != 2 ] || { second=$(tail -n 1 made) && rm "$second" && echo other >"$second"; }
done
expect_match "the path" "^$run/windlassdump\.$DAEMON\.dump\.[0-9]+(-[0-9]+)?$" "$(tail -n 1 made)"
expect_match "what it has" '^DUMP-START-TIME: ' "$(head -n 1 "$(tail -n 1 made)")"
expect "names" 12 "$(sort -u made | wc -l)"
expect "those that are gone" "$(head -n 1 made)" \
    "$(while read -r file; do [ -e "$file" ] || echo "$file"; done <made)"
expect "another's file" other "$(cat "$second")"
rm -f "$run/windlassdump.$DAEMON."*
