#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick that dies under a load of writes: no caller sees an error. The others accuse its copy, as
# GlusterFS's healer expects, and list it in their index. When the brick is back its copy is not
# read until it is healed; `windlass heal` makes all copies equal and leaves no mark.
. "$(dirname "$0")/lib.sh"

bricks_begin
replicate_volfile granular-entry-heal=on
mount_volfile "$VOL"

cat >load.py <<'EOF2'
import os, random, sys, time
root, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed)
end = time.time() + seconds
longest, n = 0, 0
handle = os.open(root + "/open", os.O_RDWR | os.O_CREAT)
while time.time() < end or n < 200:
    begin = time.time()
    name = f"{root}/f{r.randrange(12)}"
    kind = r.randrange(9)
    if kind < 4:
        with open(name, "ab" if kind == 3 else "wb") as file:
            file.write(os.urandom(r.randrange(1, 40000)))
    elif kind == 4:
        os.pwrite(handle, os.urandom(5000), r.randrange(100000))
    elif kind == 5:
        os.makedirs(f"{root}/d{r.randrange(5)}/sub", exist_ok=True)
    elif kind == 6 and os.path.exists(name):
        os.rename(name, f"{root}/f{r.randrange(12)}")
    elif kind == 7 and os.path.exists(name):
        os.chmod(name, r.choice([0o600, 0o644, 0o640]))
        os.setxattr(name, "user.n", str(n).encode())
    elif kind == 8 and os.path.exists(name):
        os.unlink(name)
    longest = max(longest, time.time() - begin)
    n += 1
os.close(handle)
print(f"{n} {longest:.2f}")
EOF2

echo before >"$MNT/kept"
mkdir "$MNT/old"
echo gone >"$MNT/old/removed-later"
python3 load.py "$MNT" 4 1 >load.out 2>load.err &
load=$!
wait_until "[ -e '$MNT/f1' ]"
brick_kill c2
wait $load || fail "a caller saw an error: $(tail -n 1 load.err)"
read -r done longest <load.out
[ "${longest%.*}" -lt 5 ] || fail "an operation took $longest seconds"
echo "$done operations, the longest took $longest seconds"

echo after >"$MNT/kept"
rm "$MNT/old/removed-later"
mkdir "$MNT/new"
echo inside >"$MNT/new/file"
chmod 600 "$MNT/kept"
wait_until "! marks c0 | grep -q dirty"
expect_match "the mark of data, attributes" \
    'c0: kept: trusted.afr.c2=0x0000000[1-9]0000000[1-9]00000000' "$(marks c0 c1)"
expect_match "the mark of a directory" \
    'c1: old: trusted.afr.c2=0x000000000000000000000001' "$(marks c0 c1)"
expect_match "the mark of a new file" \
    'c1: new/file: trusted.afr.c2=0x0000000[1-9]0000000100000000' "$(marks c0 c1)"
expect_match "the mark of a new directory" \
    'c0: new: trusted.afr.c2=0x0000000100000001000000' "$(marks c0 c1)"
[ "$(indexed c0)" -gt 3 ] || fail "the index of c0 lists $(indexed c0) objects"

# What is back is not read: the file's old content is there.
expect "the accused copy" before "$(cat c2.d/kept)"
brick_start c2
wait_until "'$WINDLASS' explain '$MNT/kept' | grep -q 'there: c0, c1, c2'"
expect "what a reader gets" after "$(cat "$MNT/kept")"
expect "a removed file" "" "$(ls "$MNT/old")"
expect_match "what explain says" 'c0 reports that c2 has missed changes of data' \
    "$("$WINDLASS" explain "$MNT/kept")"
echo more >>"$MNT/kept"

"$WINDLASS" heal "$MNT" / >heal.out || fail "heal failed: $(cat heal.out)"
expect_match "what heal says" "entries healed" "$(cat heal.out)"
(cd "$MNT" && find . ! -name . -print) | while read -r path; do
    "$WINDLASS" heal "$MNT" "$path" >>heal.out || fail "heal of $path failed: $(tail heal.out)"
done
expect_equal_copies "after healing"
wait_until no_marks
expect "what a reader gets" "after
more" "$(cat "$MNT/kept")"

# Without a quorum nothing changes, and callers are told.
brick_kill c1
brick_kill c2
wait_until "'$WINDLASS' explain '$MNT/kept' 2>/dev/null | grep -q 'too few'"
wait_until "! stat '$MNT/kept' >/dev/null 2>&1" # until the kernel does not know it either
expect_match "an explanation without a quorum" "answers 'Transport endpoint is not connected'.*
.*too few are there" "$("$WINDLASS" explain "$MNT/kept" 2>&1 | grep 'answers\|too few')"
copy_list c0 >c0.before
for change in "echo x >'$MNT/kept'" "mkdir '$MNT/no'" "rm '$MNT/kept'" "chmod 644 '$MNT/kept'" \
    "mv '$MNT/kept' '$MNT/moved'"; do
    expect_error 'not connected' bash -c "$change"
done
copy_list c0 | cmp - c0.before || fail "something changed"
brick_start c1
wait_until "echo again 2>/dev/null >'$MNT/kept'"
brick_start c2
wait_until "'$WINDLASS' heal '$MNT' kept >heal.out 2>&1"
expect_equal_copies "at the end"
unmount
