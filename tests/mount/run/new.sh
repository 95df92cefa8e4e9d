#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass new writes volfiles of the presets, which mount as they say. Names of directories with
# any characters are the same again, or refused.
. "$(dirname "$0")/../lib.sh"
need_fuse
new () {
    "$WINDLASS" new "$@"
}

mkdir "$BACK.overlay" # of preset overlay
for file in "$SOURCE_DIR"/volfiles/presets/*.vol; do
    preset=$(basename "$file" .vol)
    [ "$preset" != brick ] || continue # mounted by mount/brick/brick
    echo "$preset"
    new "$preset" "$BACK" >"$VOL"
    # shellcheck disable=SC2046 # options
    mount_volfile "$VOL" $(sed -n 's/^#   windlass -f FILE \(.*\) *MOUNTPOINT/\1/p' "$VOL")
    unmount
done

# Two views of directories in one folder have a log each, beside the directories.
mkdir one two
expect "the logs of two views" "one.overlay-audit.log two.overlay-audit.log" \
    "$({ new overlay-audit one; new overlay-audit two; } | sed -n 's/ *option log-name *//p' | xargs)"

# Names of directories.
for name in 'a b' 'q"uote' 'back\slash' "apo'strophe" '#hash' '@DIR@' 'end-volume' $'tab\there' \
    'back`tick' $'\xff\xfe' '$(touch x)' '%s' '-dash'; do
    mkdir -p -- "$TEST_DIR/$name"
    echo "in $name" >"$TEST_DIR/$name/file"
    (cd "$TEST_DIR" && new plain "./$name") >"$VOL" || fail "'$name' is refused"
    mount_volfile "$VOL"
    expect "what is in '$name'" "in $name" "$(cat "$MNT/file")"
    unmount
    (cd "$TEST_DIR" && new audit "./$name") >"$VOL" || fail "'$name' is refused by audit"
    mount_volfile "$VOL"
    unmount
    [ -s "$TEST_DIR/${name#-}.audit.log" ] || fail "no log beside '$name'"
done
expect_error "--xlator-option 'plain.x=1' is for a graph that runs.* OPTION=VALUE behind" \
    new --xlator-option plain.x=1 plain "$BACK"
mkdir "$TEST_DIR/"$'new\nline'
expect_error "a volfile can't name .*newline" new plain "$TEST_DIR/"$'new\nline'
