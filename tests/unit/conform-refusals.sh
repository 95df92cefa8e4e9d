#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `windlass conform` tests a translator that refuses changes, and one that changes names. It names
# the volume that lets it make nothing; with a file of --allow it makes its files below that volume.
. "$(dirname "$0")/../mount/lib.sh"
mkdir scratch
conform () {
    "$WINDLASS" conform --directory "$TEST_DIR/scratch" "$@"
}

# volfile NAME TYPE [OPTION...]: NAME.vol, with a volume NAME over storage/posix.
volfile () {
    printf 'volume posix\n type storage/posix\n option directory /nowhere\nend-volume\n' >"$1.vol"
    printf 'volume %s\n type %s\n%s\n subvolumes posix\nend-volume\n' "$1" "$2" \
        "$(printf ' option %s\n' "${@:3}")" >>"$1.vol"
}
echo 'write-ops -> error EROFS' >rules # files may be opened for writing
volfile ro features/read-only 'read-only on'
volfile opens debug/fault "rules $TEST_DIR/rules"
volfile forgets defects/pass 'defect made-and-refused'
volfile rot test/names
sed -i '/^ option $/d' rot.vol
# allow NAME: NAME.allow, for the type in NAME.vol.
allow () {
    printf '%s\n' '# nothing changes' 'refuse EROFS' \
        "by     $(sed -n '/^volume posix/,/^end/d; s/^ type //p' "$1.vol")" 'call   *' \
        'why    nothing changes through it' >"$1.allow"
}
allow ro
allow opens
allow forgets

# --- without --allow: one failure, which names the volume, the operation and the way out ----------

out=$(conform ro.vol 2>&1) && fail "a tree can't be made, and the kit passes"
expect_match "who refuses" \
    "no tree: 'ro' \\(features/read-only\\), mkdir: it failed with EROFS, .* --allow" "$out"
expect_match "it ends there" '^0 passed, 1 failed, 0 skipped, 0 differ by design$' "$out"

# --- in the process --------------------------------------------------------------------------------

short='in-process/@(straight|mixed|failing)/+([a-z_])'
out=$(conform --in-process --case "$short" --allow ro.allow ro.vol) || fail "refusals fail: $out"
expect_match "what is refused, and what is not" \
    '^[4-9][0-9] passed, 0 failed, 0 skipped, [5-9][0-9] differ by design$' "$out"
out=$(conform --in-process --case "$short" --allow opens.allow opens.vol) || fail "opens fail: $out"

# A refusal that changes something all the same is found; so is one of another errno or operation.
out=$(conform --in-process --case '*/straight/mkdir' --allow forgets.allow forgets.vol) &&
    fail "a refusal that made the directory passes"
expect_match "what changed" 'refused, but something changed: mkdir' "$out"
sed 's/EROFS/EPERM/' ro.allow >eperm.allow
expect_error "no tree: 'ro' .*EROFS|result differs" \
    conform --in-process --case '*/straight/mkdir' --allow eperm.allow ro.vol
sed 's/^call.*/call mkdir/' opens.allow >mkdir.allow
expect_error "result differs: .opens. \(debug/fault\), rmdir" \
    conform --in-process --case '*/straight/rmdir' --allow mkdir.allow opens.vol

# --- histories -------------------------------------------------------------------------------------

for volume in ro opens; do
    out=$(conform --case history --histories 100 --seed 1 --allow $volume.allow $volume.vol) ||
        fail "histories of $volume.vol fail: $out"
    expect_match "they pass" '^100 passed, 0 failed' "$out"
done
out=$(conform --case history --histories 100 --seed 1 --allow forgets.allow forgets.vol) &&
    fail "histories don't find a refusal that made the directory"

# --- what --allow refuses --------------------------------------------------------------------------

printf 'refuse EROFS\ncall *\nwhy x\n' >half
printf 'refuse EXYZ\nby features/read-only\ncall *\nwhy x\n' >errno
printf 'refuse EROFS\nby test/other\ncall *\nwhy x\n' >other
printf 'case x\nline y\ncall *\nwhy x\n' >mixed
expect_error "half:1:1: this paragraph has no 'by'" conform --allow half ro.vol
expect_error "errno:1:1: 'refuse EXYZ': not the name of an errno" conform --allow errno ro.vol
expect_error "other:1:1: 'by test/other': the volfile has no volume of this type" \
    conform --in-process --allow other ro.vol
expect_error "mixed:1:1: this paragraph has a 'call'" conform --allow mixed ro.vol

# --- through a mount -------------------------------------------------------------------------------

cases='@(paths/@(mkdir|open O_RDONLY|stat): the @(file|full directory)*|links/a name of *)'
if [ -r /dev/fuse ]; then
    expect_error "directory can't be made in the mount: Read-only file system; .* --allow" \
        conform --mount ro.vol
    out=$(conform --mount --case "$cases" --allow ro.allow ro.vol) || fail "the mount: $out"
    expect_match "what is read passes, what is changed is refused" \
        '^[1-9][0-9]* passed, 0 failed, 0 skipped, [1-9][0-9]* differ by design$' "$out"
fi

# --- names that are changed ------------------------------------------------------------------------

out=$(conform --in-process --case "$short" rot.vol) || fail "changed names fail: $out"
out=$(conform --case history --histories 100 --seed 1 rot.vol) || fail "changed names: $out"
