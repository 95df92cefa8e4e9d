#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A translator pauses the mount (core/work/pause.h): no request is under way meanwhile, also with
# programs at work; what the kernel and translators keep of open files is written before; a call
# that the translator itself keeps is in nobody's way. A discarded inode goes on as a removed file,
# and its name gets a new one.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

need_root
need_command python3 setfattr

# median: the middle of the microseconds in 30 lines of `pause once`.
median () {
    sed 's/^held \([0-9.]*\) us.*/\1/' | sort -n | sed -n 15p
}

stack performance/write-behind test/pause performance/md-cache
mount_volfile "$VOL" --entry-timeout=100 --attribute-timeout=100 --negative-timeout=100 \
    --kernel-writeback-cache
once () {
    "$WINDLASS" pause once "$MNT"
}

# --- what is written before -----------------------------------------------------------------------

# Pages that a program has changed, and bytes that it has written, and has closed nothing.
cat >writes.py <<'EOF_PY'
import mmap, os, sys
mapped = os.open(sys.argv[1] + "/mapped", os.O_RDWR | os.O_CREAT)
os.ftruncate(mapped, 4096)
pages = mmap.mmap(mapped, 4096)
pages[:7] = b"mapped\n"
written = os.open(sys.argv[1] + "/written", os.O_WRONLY | os.O_CREAT)
os.write(written, b"written\n")
print("ready", flush=True)
sys.stdin.read()
EOF_PY
coproc WRITES { exec python3 writes.py "$MNT"; }
read -r -t 20 _ <&"${WRITES[0]}" || fail "the program that writes did not start"
said=$(once)
expect_match "a pause" '^held [0-9.]+ us, 0 under way, 0 kept, 0 discarded, written 0$' "$said"
expect "pages of a mapped file" mapped "$(head -c 6 "$BACK/mapped")"
expect "what was written" written "$(cat "$BACK/written")"
exec {WRITES[1]}>&-
wait "$WRITES_PID"

# --- what is under way ----------------------------------------------------------------------------

# The translator keeps this call until the next pause is over.
echo kept >"$MNT/kept"
setfattr -n user.keep -v 1 "$MNT/kept" &
keeper=$!
wait_until "'$WINDLASS' inflight '$MNT' | grep -q setxattr"
expect_match "a pause with a call that the translator keeps" '0 under way, 1 kept' "$(once)"
wait $keeper || fail "the kept call failed"
expect "the kept call" 1 "$(getfattr --only-values -n user.keep "$BACK/kept")"

# Programs that never stop.
cat >works.py <<'EOF_PY'
import os, sys, time
path = "%s/work-%s" % (sys.argv[1], sys.argv[2])
end = time.time() + 60
while not os.path.exists("stop") and time.time() < end:
    with open(path, "w") as file:
        file.write("x" * 10000)
    os.rename(path, path + ".moved")
    assert os.stat(path + ".moved").st_size == 10000
    os.listdir(sys.argv[1])
EOF_PY
workers=()
for number in 1 2 3; do
    python3 works.py "$MNT" $number &
    workers+=($!)
done
wait_until "[ -e '$MNT/work-1.moved' ]"
for _ in {1..30}; do once; done >busy
touch stop
for worker in "${workers[@]}"; do wait "$worker" || fail "a program at work failed"; done
expect "pauses that met no call" 30 "$(grep -c ', 0 under way, ' busy)"
for _ in {1..30}; do once; done >idle
echo "a pause holds requests for $(median <idle) us (median of 30), with three programs at work" \
    "for $(median <busy) us"

# A pause and a move to another graph, each after the other.
for _ in {1..10}; do once; done >pauses &
pauses=$!
for size in 2MB 3MB 4MB; do
    sed -i "s|type test/pause|type test/pause\n    option every ${size%MB}000|" "$VOL"
    "$WINDLASS" reload "$MNT" >moved || fail "a reload with pauses beside it: $(cat moved)"
    sed -i '/option every/d' "$VOL"
done
wait $pauses || fail "a pause with a reload beside it: $(cat pauses)"

# --- discarded inodes -----------------------------------------------------------------------------

mkdir -p "$MNT/folder/deep"
echo text >"$MNT/file"
echo below >"$MNT/folder/deep/below"
exec 3<"$MNT/file" 4<"$MNT/folder/deep/below"
(cd "$MNT/folder" && exec sleep 100) &
sleeper=$!
wait_until "[ \"\$(readlink /proc/$sleeper/cwd)\" = '$MNT/folder' ]"
said=$("$WINDLASS" pause discard "$MNT" /file /folder /missing)
expect_match "a discard" '0 under way, 0 kept, 2 discarded' "$said"
expect "an open file" text "$(cat <&3)"
expect "an open file below a directory" below "$(cat <&4)"
expect_error "No such file" touch "/proc/$sleeper/cwd/new"
expect "the name afterwards" text "$(cat "$MNT/file")"
echo new >"$MNT/folder/new"
expect "the directory afterwards" "$(printf 'deep\nnew')" "$(ls "$MNT/folder")"
expect "a name below it" below "$(cat "$MNT/folder/deep/below")"
dump=$(cat "$("$WINDLASS" tell "$MNT" - statedump)")
expect "detached inodes in a state dump" 4 "$(grep -c '^detached=1$' <<<"$dump")"

# A move leaves them where they are.
sed -i 's|type test/pause|type test/pause\n    option every 5000|' "$VOL"
expect_match "a move with discarded files" "2 files stay with the old graph" \
    "$("$WINDLASS" reload "$MNT")"
expect "an open file after the move" below \
    "$(python3 -c 'import os; print(os.pread(4, 5, 0).decode())')"
exec 3<&- 4<&-
kill $sleeper
wait $sleeper 2>/dev/null

# The mount ends while pauses come.
while once; do :; done >pauses 2>&1 &
pauses=$!
wait_until "[ \$(grep -c '^held' pauses) -gt 5 ]"
unmount
wait $pauses
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"

# --- through a realm ------------------------------------------------------------------------------

mkdir -p "$BACK/sub/folder"
stack test/pause features/subdirectory,path=/sub
mount_volfile "$VOL" --entry-timeout=100 --attribute-timeout=100
echo text >"$MNT/folder/file"
exec 3<"$MNT/folder/file"
expect_match "a discard in a realm" '1 discarded' \
    "$("$WINDLASS" pause discard "$MNT" /sub/folder)"
expect "an open file in a realm" text "$(cat <&3)"
expect "the name in a realm" text "$(cat "$MNT/folder/file")"
dump=$(cat "$("$WINDLASS" tell "$MNT" - statedump)")
expect "detached inodes of the mount" 2 "$(grep -c '^detached=1$' <<<"$dump")"
exec 3<&-
unmount

# --- a request in the way -------------------------------------------------------------------------

# test/blocks does not set a call aside that waits for a lock: it keeps the thread.
stack test/blocks test/pause,patience=300
mount_volfile "$VOL" --lock-forwarding=on
lock_begin fcntl "$MNT/file" "$MNT/file"
wait_until "'$WINDLASS' inflight '$MNT' | grep -q \"now at: .*'blocks-1'\""
expect_error "lk of /file by lock \\($waiter\\) was under way for [0-9.]+ s, in 'blocks-1', where it \
waits for .*; it hindered the pause for 0.3 s; 'windlass inflight $MNT' lists all requests$" once
expect "what others read" text "$(cat "$MNT/file")"
lock_pass
expect_match "a pause with a lock of a program" ' 0 under way, ' "$(once)"
lock_end
unmount
