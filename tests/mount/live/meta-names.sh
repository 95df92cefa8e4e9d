#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where .meta is: in no listing, also where the directory has such a name, which the log then says;
# under another name or nowhere, as an option says. Volumes in it may have the names of its own
# files.
. "$(dirname "$0")/../lib.sh"

# A user's own, which can't be reached and stays as it is; not so in other directories.
touch "$BACK"/{a,b,c,d,e}
mkdir "$BACK/.meta" "$BACK/sub"
echo mine >"$BACK/.meta/cmdline"
mkdir "$BACK/sub/.meta"
for options in --use-readdirp --use-readdirp=no; do
    for top in "" test/trickle; do # one entry at a time: what isn't shown leaves no answer empty
        # shellcheck disable=SC2086
        stack $top
        mount_volfile "$VOL" $options
        expect "the listing with $options, $top" "a b c d e sub" "$(ls -A "$MNT" | xargs)"
        expect "all of it" ". .. a b c d e sub" "$(ls -a "$MNT" | xargs)"
        expect "how many are found" 8 "$(find "$MNT" | wc -l)"
        unmount
    done
done
expect_match "the log" \
    "W \[.*'\.meta' in the directory can't be reached in the mount: .* 'meta-dir-name'" \
    "$(cat "$LOG")"
mount_volfile "$VOL"
expect_match "what is there" 'Cmdlinestr' "$(cat "$MNT/.meta/cmdline")"
expect_ok touch "$MNT/sub/.meta/mine"
expect_error '' rm -rf "$MNT/.meta"
expect "the user's" mine "$(cat "$BACK/.meta/cmdline")"
unmount

# Elsewhere, or nowhere.
: >"$LOG"
mount_volfile "$VOL" -o 'meta-dir-name=a name'
expect "the user's" mine "$(cat "$MNT/.meta/cmdline")"
expect "where it is" 7 "$(cat "$MNT/a name/logging/loglevel")"
expect_match "the log" "'/a name/logging/loglevel' must be" \
    "$(echo x 2>/dev/null >"$MNT/a name/logging/loglevel"; cat "$LOG")"
expect_no_match "the log" "can't be reached" "$(cat "$LOG")"
unmount
mount_volfile "$VOL" --meta-dir-name=
expect "the listing" ".meta a b c d e sub" "$(ls -A "$MNT" | xargs)"
expect_ok rm -r "$MNT/.meta"
expect_error 'No such file' ls "$MNT/.meta"
expect_ok mkdir "$MNT/.meta"
unmount
for name in . .. a/b "$(printf '%256d' 1)"; do
    expect_error \
        "option 'meta-dir-name' must be a name of at most 255 bytes without '/', or empty for none, got '$name'" \
        "$WINDLASS" -f "$VOL" --meta-dir-name="$name" "$MNT"
done

# A volume of the type meta sets the name too; the command line takes precedence, and a bad name is
# reported with its place.
stack
printf 'volume meta-autoload\n    type meta\n    option meta-dir-name %s\n%s\nend-volume\n' \
    .daemon '    subvolumes posix' >>"$VOL"
mount_volfile "$VOL"
expect "its type" meta/meta "$(cat "$MNT/.daemon/graphs/active/meta-autoload/type")"
expect "what .meta is" "a directory of the user's" \
    "$([ -e "$MNT/.meta/cmdline" ] || echo "a directory of the user's")"
unmount
mount_volfile "$VOL" --meta-dir-name=here
expect_ok test -e "$MNT/here/version" -a ! -e "$MNT/.daemon"
unmount
sed -i 's/\.daemon/a\/b/' "$VOL"
expect_error "test.vol:7:26: .*option 'meta-dir-name' must be a name of at most 255 bytes" \
    "$WINDLASS" -f "$VOL" "$MNT"

# Volumes may be called as files there are; a directory's file name says what it stands for.
stack
below=posix
for name in volfile top active %volfile % name; do
    printf 'volume %s\n    type encryption/rot-13\n    subvolumes %s\nend-volume\n' $name \
        $below >>"$VOL"
    below=$name
done
mount_volfile "$VOL"
graph=$MNT/.meta/graphs/active
expect "directories of volumes" "%% %%volfile %top %volfile active name posix" \
    "$(find "$graph/" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | LC_ALL=C sort | xargs)"
expect "volumes" "% %volfile top volfile active name posix" \
    "$(cat "$graph"/{%%,%%volfile,%top,%volfile,active,name,posix}/name | xargs)"
expect "from the top to the bottom" "name % %volfile active top volfile posix" \
    "$(at=$graph/top; for _ in {1..7}; do cat "$at/name"; at=$at/subvolumes/0; done | xargs)"
expect_ok "$WINDLASS" check "$graph/volfile"
unmount
