#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass overlay status, diff and discard: what a view has changed is told, as lines, as letters,
# as JSON and as a patch; discarding it, or a part of it, brings back what was there, also while
# files are open.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3 patch
mkdir -p "$UPPER" "$BACK/dir/deep" "$BACK/gone"
overlay_volfile
printf 'one\ntwo\nthree\n' >"$BACK/file"
echo old >"$BACK/dir/old"
echo deep >"$BACK/dir/deep/file"
echo mode >"$BACK/mode"
echo x >"$BACK/gone/x"
cp -a "$BACK" before

mount_volfile "$VOL" --entry-timeout=100 --attribute-timeout=100 --negative-timeout=100
expect "a view without changes" "" "$(overlay diff "$MNT")"

# --- what is told ---------------------------------------------------------------------------------

change () {
    printf 'one\n2\nthree\nfour\n' >"$MNT/file"
    chmod 600 "$MNT/mode"
    rm -r "$MNT/gone"
    rm "$MNT/dir/old"
    mkdir "$MNT/new"
    echo new >"$MNT/new/file"
    echo new >"$MNT/dir/deep/new"
}
change
all=$(printf 'A\tdir/deep/new\nA\tnew\nA\tnew/file\nD\tdir/old\nD\tgone\nM\tfile\nM\tmode')
expect "all changes" "$all" "$(changes)"
expect "changes below a path" "$(printf 'A\tdir/deep/new\nD\tdir/old')" "$(changes dir)"
expect_match "a line" '^changed  /mode \(mode 0644 -> 0600\)$' "$(overlay diff "$MNT")"
expect_match "counts" '^3 added, 2 changed, 2 removed, 0 renamed$' "$(overlay status "$MNT")"
expect "JSON" 7 "$(overlay diff --json "$MNT" | python3 -c 'import json, sys
print(len(json.load(sys.stdin)))')"
expect "counts as JSON" 3 "$(overlay status --json "$MNT" | python3 -c 'import json, sys
print(json.load(sys.stdin)["added"])')"

# The patch makes the view's files of the lower's.
cp -a "$BACK" patched
overlay diff --patch "$MNT" >patch
patch -s -p1 -d patched <patch || fail "the patch does not apply: $(cat patch)"
expect "a patched file" "$(cat "$MNT/file")" "$(cat patched/file)"
expect "a new file" new "$(cat patched/new/file)"
expect_error "No such file" cat patched/dir/old

# --- parts are discarded --------------------------------------------------------------------------

expect_error "the view has changed nothing at '/dir/nothing'; nothing was discarded" \
    overlay discard "$MNT" file dir/nothing
expect_error "must not have '.' and '..' in it, got 'dir/../file'" \
    overlay discard "$MNT" dir/../file
expect "all changes, still" "$all" "$(changes)"
exec 3<"$MNT/file"
expect "the first line" one "$(head -n 1 <&3)"
expect_match "a discard of two paths" '^2 names discarded; requests waited for [0-9.]+ ms$' \
    "$(overlay discard "$MNT" file /dir/old)"
expect "a discarded change" "$(cat before/file)" "$(cat "$MNT/file")"
expect "a file that was removed" old "$(cat "$MNT/dir/old")"
expect "the open file" "$(printf 'one\n2\nthree\nfour')" \
    "$(python3 -c 'import os; print(os.pread(3, 100, 0).decode(), end="")')"
exec 3<&-
expect "the other changes" "$(printf 'A\tdir/deep/new\nA\tnew\nA\tnew/file\nD\tgone\nM\tmode')" \
    "$(changes)"
echo again >>"$MNT/file"
expect_match "a change after a discard" '^M.file$' "$(changes)"
expect "a name that the kernel knows as missing" "No such file or directory" \
    "$(cat "$MNT/gone/x" 2>&1 | sed 's/.*: //')"
expect_error "has removed or replaced a directory above '/gone/x'" overlay discard "$MNT" gone/x
overlay discard "$MNT" gone >/dev/null
expect "it is there again" x "$(cat "$MNT/gone/x")"

# --- everything is discarded ----------------------------------------------------------------------

# A directory that a program stands in, and one that it lists.
chmod 700 "$MNT"
echo below >"$MNT/new/below"
cd "$MNT/new" || exit 1
expect_match "a discard of everything" '^[0-9]+ names discarded; ' "$(overlay discard "$MNT")"
expect_error "No such file" touch made
cd "$TEST_DIR" || exit 1
expect "no changes" "" "$(overlay diff "$MNT")"
expect "the mode of the root" "$(stat -c %a "$BACK")" "$(stat -c %a "$MNT")"
diff -r before "$MNT" || fail "a view without changes differs from its lower"
wait_until work_is_clean
change
expect "all changes, once more" "$all" "$(changes)"

# --- while programs work --------------------------------------------------------------------------

cat >works.py <<'EOF_PY'
import os, sys, time
path = "%s/work-%s" % (sys.argv[1], sys.argv[2])
end = time.time() + 60
while not os.path.exists("stop") and time.time() < end:
    try:
        with open(path, "w") as file:
            file.write("x" * 10000)
        os.rename(path, path + ".moved")
        with open(sys.argv[1] + "/file", "a") as file:
            file.write("line\n")
    except FileNotFoundError:
        pass # it was discarded meanwhile
    os.listdir(sys.argv[1])
EOF_PY
workers=()
for number in 1 2 3; do
    python3 works.py "$MNT" $number &
    workers+=($!)
done
for _ in {1..20}; do overlay discard "$MNT" || fail "a discard beside programs"; done >discards
touch stop
for worker in "${workers[@]}"; do wait "$worker" || fail "a program at work failed"; done
expect_ok overlay discard "$MNT"
echo "requests waited for $(sed 's/.*for \(.*\) ms/\1/' discards | sort -n | sed -n 10p) ms for a" \
    "discard beside three programs (median of 20)"
expect "no changes after all" "" "$(overlay diff "$MNT")"

# A view that is mounted read-only keeps its changes.
echo more >>"$MNT/file"
unmount
mount_volfile "$VOL" -o ro
for command in discard apply; do
    expect_error "the mount is read-only \\(-o ro\\): its changes stay as they are" \
        overlay $command "$MNT" file
done
expect_match "the changes of a read-only view" '^M.file$' "$(changes)"
unmount
diff -r before "$BACK" || fail "the lower has changed"
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"

# A lower that takes the changes is refused, and nothing is made in it.
sed "s|$UPPER|$BACK|" "$VOL" >same.vol
expect_error "volume 'lower' is the directory of 'changes', which takes the changes" \
    "$WINDLASS" -f same.vol -l same.log "$MNT"
diff -r before "$BACK" || fail "something was made in the lower"
