#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bash, zsh and fish, those that are there, complete commands, mount points, types, files, and the
# names that the daemon of a mount says.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"
need_root

mkdir bin folder 'with blank'
ln -s "$WINDLASS" bin/windlass
PATH=$PWD/bin:$PATH
MNT="$TEST_DIR/with blank"
touch my.vol other.txt
stack debug/fault encryption/rot-13
# shellcheck disable=SC2016 # is to stay as it is
sed -i 's/rot-13-2/$(touch${IFS}ran)/' "$VOL"
mount_volfile "$VOL" -o fsname=$'a\e[31m'

# What any user can have mounted reaches the terminal: zsh shows the sentences as they are.
expect_match "the mount point" "^$MNT.a.x1b.31m\$" "$("$WINDLASS" help --complete -- reload "$TEST_DIR/with")"

lines=() expected=()
# offers EXPECTED LINE: the words that are offered for the last one of the line, between commas.
offers () {
    lines+=("windlass $2")
    expected+=("$1")
}

quoted=$TEST_DIR/with\\\ blank
offers check 'che'
offers start,stop 'timeline st'
offers encryption/rot-13 'help enc'
offers my.vol 'check my'
offers my.vol '-f my'
offers ro,acl= '-o ro,ac'
offers --lazy 'umount --la'
offers notable 'errors /mnt --record=no'
offers "$MNT" "reload $TEST_DIR/wi"
offers fault-1 "tell $quoted fa"
offers '' "tell $quoted \\\$"
offers rules "tell $quoted fault-1 ru"
offers counts "tell $quoted - cou"
offers '' "reload folder"

# Each prints the number of a line and a word, for all words of all lines. bash itself quotes a word
# that it inserts, and takes one apart at the =.
in_bash () {
    local i
    . "$SOURCE_DIR/completion/windlass"
    for i in "${!lines[@]}"; do
        mapfile -t COMP_WORDS < <(sed 's/\\ /\x01/g; s/ /\n/g; s/=/\n=\n/g; s/\x01/\\ /g' \
            <<<"${lines[i]}")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _windlass
        [ ${#COMPREPLY[@]} = 0 ] || printf "$i %s\n" "${COMPREPLY[@]}" | sed 's/\\ / /g'
    done
}

in_zsh () {
    python3 "$SOURCE_DIR/tests/mount/run/zsh-complete.py" "$SOURCE_DIR/completion" \
        "${lines[@]}"
}

in_fish () {
    # shellcheck disable=SC2016 # fish expands it
    HOME=$TEST_DIR fish -N -c '
        source $argv[1]/completion/windlass.fish
        for i in (seq 2 (count $argv))
            for word in (complete -C $argv[$i])
                printf "%s %s\n" (math $i - 2) (string replace -r "\t.*" "" -- $word)
            end
        end' "$SOURCE_DIR" "${lines[@]}" | sed 's/\\ / /g'
}

shells=''
for shell in bash zsh fish; do
    command -v $shell >/dev/null || continue
    shells="$shells $shell"
    "in_$shell" >said || fail "no answer from $shell"
    for i in "${!lines[@]}"; do
        got=$(sed -n "s/^$i //p" said | LC_ALL=C sort | paste -sd, | sed 's/--record=//')
        [ "$shell,$got" = "bash,acl=" ] && got=ro,acl=
        expect "what $shell offers after '${lines[i]}'" "${expected[i]}" "$got"
    done
done
[ ! -e ran ] || fail "a name of a volume was run"
unmount
echo "completed in$shells"
