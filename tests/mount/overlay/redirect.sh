#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Directories of a lower that are renamed in cluster/overlay: the marks are those of the kernel's
# overlayfs, what is in them follows, and wrong marks are refused with a sentence.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3 getfattr setfattr
upper=$UPPER/layers/0
mkdir -p "$upper" "$BACK/a/b/c/d" "$BACK/x" "$BACK/other/in"
echo file >"$BACK/a/b/c/file"
echo deep >"$BACK/a/b/c/d/deep"
echo other >"$BACK/other/in/file"
overlay_volfile
cp -a "$BACK" before

# rename FROM TO [FLAGS]: the system call alone, in the mount
rename () {
    (cd "$MNT" && python3 - "$@") <<'EOF_PY'
import ctypes, os, sys
one, other, *flags = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
if libc.renameat2(-100, one.encode(), -100, other.encode(), int(*flags or "0")) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
EOF_PY
}

# redirect NAME: the mark of a directory of the upper
redirect () {
    getfattr --absolute-names --only-values -n trusted.overlay.redirect "$upper/$1" 2>/dev/null
}

# tree: names and contents of the mount
tree () {
    (cd "$MNT" && find . -type d -printf '%p/\n' -o -printf '%p ' -exec cat {} \;) | sort
}

# --- one mount ------------------------------------------------------------------------------------

mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
number=$(stat -c %i "$MNT/a/b/c/d/deep")
rename a/b/c a/b/new
expect "a name within one directory" c "$(redirect a/b/new)"
expect "the old name" "character special file" "$(stat -c %F "$upper/a/b/c")"
expect "a file in it" file "$(cat "$MNT/a/b/new/file")"
expect_error "No such file" cat "$MNT/a/b/c/file"
rename a/b/new a/b/again
expect "a second name" c "$(redirect a/b/again)"
rename a/b/again x/moved
expect "a name in another directory" /a/b/c "$(redirect x/moved)"
rename x/moved x/c
expect "another name there" /a/b/c "$(redirect x/c)"
rename x/c/d other/d
expect "a directory of a renamed one" /a/b/c/d "$(redirect other/d)"
echo more >>"$MNT/other/d/deep"
expect "a number in it" "$number" "$(stat -c %i "$MNT/other/d/deep")"
rename x/c other/in 2
expect "exchanged directories" "/a/b/c /other/in" "$(redirect other/in) $(redirect x/c)"
expect "what is in one" other "$(cat "$MNT/x/c/file")"
expect "what is in the other one" file "$(cat "$MNT/other/in/file")"
mkdir "$MNT/x/empty"
rename x/c x/empty
expect "a directory that took the place of another one" other "$(cat "$MNT/x/empty/file")"
expect_error "not empty" rename x/empty other/in
mkdir "$MNT/a/b/c"
expect "a new directory under the old name" "" "$(ls -A "$MNT/a/b/c")"
expect_error "Invalid argument" rename a a/b/in
all=$(tree)
unmount

# The next mount, and the kernel's overlayfs, show the same.
expect "the lower" "" "$(diff -r before "$BACK")"
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
expect "the next mount" "$all" "$(tree)"
expect "a number in it" "$number" "$(stat -c %i "$MNT/other/d/deep")"
expect_match "the diff" '^renamed +/a/b/c/d/ -> /other/d/' "$("$WINDLASS" overlay diff "$MNT")"
expect_no_match "the diff, of what was moved" "^removed .*/$" "$("$WINDLASS" overlay diff "$MNT")"
expect_match "the diff, letters" "$(printf '^R\t/?other/in\t/?x/empty')" \
    "$("$WINDLASS" overlay diff --name-status "$MNT")"
expect "the diff of one name, which two renamed directories have had" \
    "$(printf 'R\ta/b/c\tother/in\nR\tother/in\tx/empty')" "$(changes other/in)"

# --- what can't be --------------------------------------------------------------------------------

long=$(printf '%0120d' 0)
unmount
mkdir -p "$BACK/$long/$long/$long/dir"
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0
expect_error "cross-device" rename "$long/$long/$long/dir" dir
rename "$long/$long/$long/dir" "$long/$long/$long/new"
expect_ok mv "$MNT/$long/$long/$long/new" "$MNT/dir"
unmount

mkdir "$upper/wrong"
for value in .. . / '' a//b /a//b /a/ /a/../b /a/. b/c "/$(printf '%0300d' 0)"; do
    setfattr -n trusted.overlay.redirect -v "$value" "$upper/wrong"
    mount_volfile "$VOL" -l "$TEST_DIR/log"
    expect_error "Input/output error" ls "$MNT/wrong"
    expect_match "the log" "directory 'wrong' of volume 'changes' can't be shown: its redirect '" \
        "$(cat log)"
    expect "what is beside it" deep "$(head -n 1 "$MNT/other/d/deep")"
    unmount
    rm log
done

# A redirect to a directory that does not exist, and one to what the directory is in itself.
setfattr -n trusted.overlay.redirect -v /no/such "$upper/wrong"
mkdir -p "$upper/a/loop"
setfattr -n trusted.overlay.redirect -v /a "$upper/a/loop"
mount_volfile "$VOL"
expect "a redirect to nothing" "" "$(ls -A "$MNT/wrong")"
expect "a redirect to a directory above" b "$(ls -A "$MNT/a/loop")"
expect "all names" 0 "$(find "$MNT" >/dev/null && echo 0)"
unmount
