#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# With features/audit above, the list of changes names the programs that have changed each path: also
# after renames, and of names with any bytes.
. "$(dirname "$0")/../lib.sh"

need_command python3
need_fuse
export XDG_STATE_HOME=$TEST_DIR/home
mkdir -p "$TEST_DIR/place/dir/"{deep,kept,gone}
DIR=$TEST_DIR/place/dir
for name in edited moved removed read deep/one gone/two; do
    echo text >"$DIR/$name"
done

cat >session <<'END'
cd "$1"
cat read >/dev/null
sed -i s/text/new/ edited
tee -a edited <read >/dev/null
truncate -s 1 moved
mv moved kept/moved
touch deep/made
cp edited deep/one
mv deep deeper
rm removed
rm -r gone
ln read linked
python3 -c 'open(b"odd\xff\n", "w")'
END
"$WINDLASS" run --keep agent overlay-audit "$DIR" -- sh session "$DIR" 2>told || fail "$(cat told)"

# --- lines ----------------------------------------------------------------------------------------

line () {
    expect "$1" "$2" "$(grep -F -- "$1" told)"
}
line "/edited" "changed  /edited (content) by sed, tee"
line "/kept/moved" "added    /kept/moved by truncate, mv"
expect "a former name" "removed  /moved by mv" "$(grep 'removed .*/moved' told)"
line "/deeper/" "renamed  /deep/ -> /deeper/ by mv
added    /deeper/made by touch
changed  /deeper/one (content) by cp"
line "/removed" "removed  /removed by rm"
line "/gone" "removed  /gone/ by rm"
line "/linked" "added    /linked by ln"
line "/odd" 'added    /odd\xff\x0a by python3'
expect "what is only read is in no line" "" "$(grep -E 'by (.*, )?cat|/read' told)"

# --- a kept view ----------------------------------------------------------------------------------

"$WINDLASS" overlay diff --json agent >json
expect "programs in JSON" "['sed', 'tee']" "$(python3 -c '
import json
print([one["programs"] for one in json.load(open("json")) if one["path"] == "/edited"][0])')"
expect "in a patch" "# changed  /edited (content) by sed, tee" \
    "$("$WINDLASS" overlay diff --patch agent edited | head -1)"
expect "letters only" "M	edited" "$("$WINDLASS" overlay diff --name-status agent edited)"

# --- logs that can't be ---------------------------------------------------------------------------

# A volfile that is refused once the overlay has begun.
state=$TEST_DIR/place/.windlass-overlays/agent
sed "s#option log-directory .*#option log-directory $state/changes#" "$state/view.vol" >inside.vol
expect_error "is in the directory of volume 'changes', so in the mount" \
    "$WINDLASS" -f inside.vol -l refused.log "$MNT"
mount_volfile "$state/view.vol"
mv "$state/dir.overlay-audit.log" "$state/elsewhere"
expect_error "the log of features/audit above can't be read: No such file or directory; --name-sta" \
    "$WINDLASS" overlay diff "$MNT"
expect "without the log" "M	edited" "$("$WINDLASS" overlay diff --name-status "$MNT" edited)"
unmount
