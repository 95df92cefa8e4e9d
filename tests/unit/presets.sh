#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each preset has a summary and help; its volfile, with each of its flags, has no problem. Options
# come into the volfile at their place. What the user misspells is told with what there is. A user's
# own file is a preset.
. "$(dirname "$0")/../mount/lib.sh"
new () {
    "$WINDLASS" new "$@"
}

for file in "$SOURCE_DIR"/volfiles/presets/*.vol; do
    preset=$(basename "$file" .vol)
    echo "$preset"
    expect_match "its line in the list" "^  $preset +[a-z]" "$("$WINDLASS" help presets)"
    help=$("$WINDLASS" help "$preset" | sed '/^Usage:/,$d') # the commands of trash follow
    expect_match "its help" "^  windlass new $preset " "$help"
    place=$BACK
    [ "$preset" != brick ] || place=server:/srv/brick
    for flag in '' $(grep -o '^  --[a-z-]*' <<<"$help"); do
        new "$preset" "$place" $flag >"$VOL" || fail "$preset $flag"
        expect "the check of $preset $flag" "$VOL: ok" "$("$WINDLASS" check "$VOL" 2>&1 |
            grep -v 'mounted with acl=translator' | grep -o '.*: ok')"
    done
    new "$preset" "$place" >"$VOL"
    expect_match "how it is mounted" '^#   windlass -f FILE .*MOUNTPOINT' "$(cat "$VOL")"
    expect_no_match "what is of the preset alone" '@|SPDX|# (preset|flag|mount)' "$(cat "$VOL")"
    grep -q "presets/$preset.vol" "$SOURCE_DIR/volfiles/local.mk" || fail "it is not installed"
done

# Options: in place of a line that sets one, or shows how, or after the type.
expect "an option that the preset sets" "    option delay-duration 5" \
    "$(new slow "$BACK" delay-duration=5 | grep delay-duration)"
expect "one that it shows" "    option seed 7" "$(new slow "$BACK" seed=7 | grep seed)"
expect_match "one that it doesn't name" '^    option descriptor-cache 64' \
    "$(new plain "$BACK" descriptor-cache=64)"
new plain "$BACK" -o out.vol
expect_match "a file" 'storage/posix' "$(cat out.vol)"
expect "the server of a brick" 'option remote-host ::1' \
    "$(new brick '[::1]:/srv/b' | grep -o 'option remote-host .*')"

# The value of an option is not taken for the preset.
expect_match "with an option before the preset" '^# plain: ' \
    "$(new --volume-name posix plain "$BACK" 2>&1)"

# What is wrong is told with what is allowed.
expect_error "there is no preset 'rot13'; did you mean 'rot-13'\?; there are: acl, .*slow" \
    new rot13 "$BACK"
expect_error "no volume of preset 'slow' has an option 'delay-durations'; did you mean 'delay-duration'\?; there are: .*delay-gen.seed" \
    new slow "$BACK" delay-durations=5
expect_error "several volumes of preset 'cached' have an option 'cache-size'; say which: .*io-cache.cache-size" \
    new cached "$BACK" cache-size=1MB
expect_error "command line: error: volume 'delay-gen': option 'delay-duration' must be .*got 'x'" \
    new slow "$BACK" delay-duration=x
expect_error "'--stored' is neither|[Uu]nknown option --stored" new plain "$BACK" --stored
expect_error "'ls' is neither OPTION=VALUE nor a flag of preset 'plain'; a command follows after '--'" \
    "$WINDLASS" run plain "$BACK" ls
expect_error "none follows after '--'" "$WINDLASS" run plain "$BACK" --
expect_error "takes HOST:/PATH, got 'server'" new brick server
expect_error "'windlass new brick' writes its volfile" "$WINDLASS" run brick server:/srv
expect_error "'/' can't be covered" "$WINDLASS" run plain / -- true
expect_error "'.*/none': No such file" "$WINDLASS" run plain "$TEST_DIR/none" -- true
expect_match "a directory that is missing" "warning: '.*/none' is missing here" \
    "$(new plain "$TEST_DIR/none" 2>&1 >/dev/null)"

# The user's own.
export HOME=$TEST_DIR/home XDG_CONFIG_HOME=
mkdir -p home/.config/windlass/presets
{ printf '# preset: mine\n# flag --raw rot-13.decrypt-read=off: raw\n'
    sed 1,4d "$SOURCE_DIR/volfiles/presets/rot-13.vol"; } >home/.config/windlass/presets/mine.vol
expect_match "a preset of the user" '^  mine +mine' "$("$WINDLASS" help presets)"
expect_match "it" 'decrypt-read off' "$(new mine "$BACK" --raw)"
expect_match "one by its path" 'decrypt-read off' \
    "$(new home/.config/windlass/presets/mine.vol "$BACK" --raw)"
echo '# nothing' >home/.config/windlass/presets/bad.vol
expect_error "bad.vol:1: not a preset: there is no line '# preset: SUMMARY'" new bad "$BACK"

# A preset says what the mount is like. It sets none of the options that would load programs, write
# files or give rights, and its name is no option and no line of a volfile.
while read -r line; do
    printf '# preset: bad\n%s\n' "$line" >bad.vol
    expect_error 'bad.vol:2: .* windlass-options\(1\)' new ./bad.vol "$BACK"
done <<END
# mount --xlator-dir=$PWD
# mount --log-file=/etc/passwd
# mount -o suid
# mount --read-only suid
# flag --fast --xlator-dir=$PWD: fast
# flag --fast --no-daemon: fast
END
name=$'./rot,suid\nend-volume.vol'
cp home/.config/windlass/presets/mine.vol "$name"
expect "the name of a preset in its volfile" '# rot_suid_end-volume: mine' \
    "$(new "$name" "$BACK" | head -1)"

# Root takes none of a user's, whose XDG_CONFIG_HOME su has kept; the one of Windlass counts.
rm home/.config/windlass/presets/bad.vol
cp home/.config/windlass/presets/{mine,plain}.vol
if [ "$(id -u)" = 0 ]; then
    chown -R 65534:65534 home
    expect_no_match "the presets of a stranger" mine "$("$WINDLASS" help presets)"
    expect_no_match "in place of another" rot-13 "$(new plain "$BACK")"
    expect_error "there is no preset 'mine'" new mine "$BACK"
    expect_match "one that is named by its path" rot-13 \
        "$(new home/.config/windlass/presets/mine.vol "$BACK")"
fi
