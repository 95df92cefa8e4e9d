#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Errors in the command line are reported, with exit status 64; options that only print do nothing
# else.
# builds: debug
. "$(dirname "$0")/../lib.sh"

# usage REGEX ARGUMENT...
usage () {
    local regex=$1
    shift
    "$WINDLASS" "$@" >out 2>err </dev/null
    expect "the exit status of: $*" 64 $?
    expect_match "what is said of: $*" "^windlass( [a-z-]+)?: (.*[^a-z])?$regex" "$(cat err)"
    expect "the standard output of: $*" "" "$(cat out)"
}

stack
usage "no volfile and no mount point; 'windlass -f VOLFILE MOUNTPOINT' mounts, and 'windlass help'"
usage "did you mean 'windlass -f $VOL $MNT'\?" "$VOL" "$MNT"
usage "did you mean 'windlass -f $VOL $MNT'\?" mount "$VOL" "$MNT"
usage "did you mean 'windlass -f VOLFILE MOUNTPOINT'\?" mount
usage "did you mean 'windlass umount'\?" unmount "$MNT"
usage "did you mean 'windlass list'\?" mounts
usage "there is no command or preset 'stuff', and a type is CATEGORY/NAME; 'windlass help' and" help stuff
usage "no command or preset 'posix', .* CATEGORY/NAME; did you mean 'storage/posix'\?" help posix
usage "no command or preset 'rot13', .* CATEGORY/NAME; did you mean 'encryption/rot-13'\?" help rot13
usage "which mount point\? usage: windlass umount" umount
usage "no argument is wanted, got '$MNT'; usage: windlass list" list "$MNT"
usage "no volfile" "$MNT"
usage "no mount point" -f "$VOL"
usage "one mount point too many: 'more'" -f "$VOL" "$MNT" more
usage "nonsense" -f "$VOL" --nonsense "$MNT"
usage "log level must be .*DEBUG.*, got 'LOUD'" -f "$VOL" -L LOUD "$MNT"
usage "there is no mount option 'nonsense'" -f "$VOL" -o ro,nonsense "$MNT"
usage "there is no mount option 'nonsense'" -f "$VOL" -o nonsense=1 "$MNT"
usage "there is no mount option 'max_read'; the kernel and the daemon agree" -f "$VOL" \
    -o max_read=7 "$MNT"
usage "option '--debug' takes no value, got '3'" -f "$VOL" --debug=3 "$MNT"
usage "option '--svg' takes no value, got 'FILE'" graph --svg=FILE "$VOL"
usage "-o worm: not supported: .*features.worm on" -f "$VOL" -o ro,worm "$MNT"
usage "-o dump-fuse=/tmp/x: not supported" -f "$VOL" -o dump-fuse=/tmp/x "$MNT"
usage "-o aux-gfid-mount: not supported: .*no directory .gfid" -f "$VOL" -o aux-gfid-mount "$MNT"
usage "-o volume-id=x: not supported: .*SERVER:/VOLUME" -f "$VOL" -o volume-id=x "$MNT"
usage "option 'transport' must be one of tcp, socket, got 'rdma'" -f "$VOL" -o transport=rdma "$MNT"
usage "option 'server-port' must be 1 to 65535, got '70000'" -o server-port=70000 host:/v "$MNT"
usage "option 'server-port' is for SERVER:/VOLUME, got '$VOL'" -f "$VOL" -o server-port=1 "$MNT"
usage "option 'oom-score-adj' must be -1000 to 1000, got '1001'" -f "$VOL" -o oom-score-adj=1001 \
    "$MNT"
usage "option 'subdir-mount' is for SERVER:/VOLUME without a directory, got '$VOL'" -f "$VOL" \
    -o subdir-mount=x "$MNT"
usage "option 'subdir-mount' is for SERVER:/VOLUME without a directory, got 's:/v/d'" -f s:/v/d \
    -o subdir-mount=x "$MNT"
usage "attribute-timeout.*'soon'" -f "$VOL" --attribute-timeout=soon "$MNT"
usage "reader-thread-count.*'65'" -f "$VOL" -o reader-thread-count=65 "$MNT"
usage "attribute-timeout.*'-1'" -f "$VOL" --attribute-timeout=-1 "$MNT"
usage "entry-timeout.*needs a value" -f "$VOL" -o entry-timeout "$MNT"
usage "there is no command 'frobnicate' \('windlass help' lists them\), and no volfile" frobnicate
usage "there is no command 'chekc'; did you mean 'check'\?" chekc "$VOL"
usage "did you mean 'conform'\?" confrom --mount "$VOL"
usage "attribut-timeout.*; did you mean '--attribute-timeout'\?" -f "$VOL" --attribut-timeout=3 \
    "$MNT"
usage "log-fiel.*; did you mean '--log-file'\?" -f "$VOL" --log-fiel x "$MNT"
usage "'entry-timeuot'; did you mean 'entry-timeout'\?" -f "$VOL" -o entry-timeuot=3 "$MNT"
usage "did you mean '--fop'\? see" timeline start --fopp x "$MNT"
usage "start, stop, cat or clear\? usage:" timeline
usage "start, stop, cat or clear must come first, got '$MNT'; usage" timeline "$MNT"
usage "got 'strat'; did you mean 'start'\? usage:" timeline strat "$MNT"
usage "start, stop or cat must come first, got 'strat'; did you mean 'start'\? usage:" trace strat
usage "which mount point\? usage:" timeline start
usage "which volfile\? usage:" check
usage "attribute-timeout' must be 0 to .*, got '10parsecs' \(attribute-timeout: seconds for which" \
    -f "$VOL" --attribute-timeout=10parsecs "$MNT"
usage "'xlator-dir' must be a directory, got '/nonexist', which is missing" -f "$VOL" \
    --xlator-dir=/nonexist "$MNT"
usage "'xlator-dir' must be a directory, got '$VOL', which is not a directory" -f "$VOL" \
    -o xlator-dir="$VOL" "$MNT"
usage "'xlator-dir' must be a directory, got '/nonexist'" check --xlator-dir=/nonexist "$VOL"
! is_mounted || fail "it is mounted"

version=$("$WINDLASS" --version)
expect_match "the version" '^windlass [0-9]' "$version"
# What the program does without, of this libfuse, is said as well.
for part in OPS_TMPFILE:O_TMPFILE OPS_STATX:statx PARALLEL_DIRECT_WRITES:parallel; do
    if grep -q "define HAVE_STRUCT_FUSE_.*${part%:*} 1" "$BUILD_DIR/config.h"; then
        expect_no_match "with $part" "^not in the libfuse.*${part#*:}" "$version"
    else
        expect_match "without $part" "^not in the libfuse.*${part#*:}" "$version"
    fi
done
expect_match "the help of a command" '^  windlass top .* MOUNTPOINT$' "$("$WINDLASS" help top)"
expect_match "the help of a command" '^ +--sort=' "$("$WINDLASS" help top)"
help=$("$WINDLASS" --help)
expect_match "the help" '^  windlass .* -f VOLFILE MOUNTPOINT$' "$help"
said=$("$SOURCE_DIR/try" nosuch.vol "$MNT" 2>&1) && fail "try takes a missing volfile"
expect "before it builds" "try: volfile '$PWD/nosuch.vol' is missing, or can't be read" "$said"
said=$("$SOURCE_DIR/try" a b c 2>&1) && fail "try takes three words"
expect_match "three words" "VOLFILE and MOUNTPOINT are wanted, or nothing; got 3 words: a b c" "$said"
expect_match "all values of an option" '^  --acl=\[on\|off\|translator\] ' "$help"
expect_match "without other words for on and off" '^  --direct-io-mode=\[auto\|on\|off\] ' "$help"
expect_match "values of one that needs one" '^  --passthrough=auto\|off\|required ' "$help"
# The help and the manual's synopsis name the same subcommands.
expect_match "commands in the usage" '^  windlass COMMAND' "$help"
expect_match "the subcommands" '^  check +check volfiles' "$("$WINDLASS" --help)"
"$WINDLASS" --help | sed -n '/^Commands, /,/^$/ s/^  \([a-z-]*\) .*/\1/p' | sort >commands
sed -n '/^.SH SYNOPSIS/,/^.SH DESC/p' "$SOURCE_DIR/man/windlass-commands.1.in" | sed 's/\\-/-/g' |
    grep -A1 '^\.SY' | sed -n 's/^\.BR* //p' |
    tr -d '"' | sed 's/|.*cat$//; s/ | /\n/g' | grep -v '^-' | awk '{ print $1 }' | sort -u >synopsis
expect "the synopsis" "$(cat commands)" "$(cat synopsis)"
expect_match "the folder of logs" '^/.*windlass' "$("$WINDLASS" --print-logdir)"
expect_match "the folder of translators" '^/' "$("$WINDLASS" --print-xlatordir)"

# A tag that takes several lines stands alone: the text begins below it.
page=$("$WINDLASS" conform --man)
expect_match "the page" '^.fB.*with the mount option kernel.-writeback' "$page"
if command -v groff >/dev/null; then
    page=$(printf '.TH A 8\n%s\n' "$page" | groff -man -Tascii -P-c -rLL=70n -)
    expect_no_match "a tag that runs into the text" 'kernel-writeback-cache +[A-Z]' "$page"
fi

# These are about the graph: status 1.
for option in --volume-name=nosuch --xlator-option=posix.nosuch=1 \
    --xlator-option=nosuch.directory=/ --xlator-option=nonsense; do
    "$WINDLASS" -f "$VOL" -l "$LOG" "$option" "$MNT" >out 2>&1 && fail "$option was accepted"
    expect_match "what is said of $option" "nosuch|nonsense" "$(cat out)"
    ! is_mounted || fail "it is mounted with $option"
done
expect_match "the volumes there are" "--volume-name 'nosuch' is not a volume of .*; its volumes are posix$" \
    "$("$WINDLASS" check --volume-name=nosuch "$VOL" 2>&1)"

sed 's|storage/posix|posix|' "$VOL" >short.vol
expect_match "a type without category" "short.vol:2:.*did you mean 'storage/posix'\?" \
    "$("$WINDLASS" check short.vol 2>&1)"

# A volfile may be right, and its directory missing on this machine.
expect_ok "$WINDLASS" check "$VOL"
expect "nothing to warn of" "" "$("$WINDLASS" check "$VOL" 2>&1 >/dev/null)"
rmdir "$BACK"
expect "what check warns of" \
    "$VOL:3:22: warning: volume 'posix': option 'directory' is '$BACK', which is missing here; \
to mount it, it must be a directory" "$("$WINDLASS" check "$VOL" 2>&1 >/dev/null)"
touch "$BACK"
expect_match "a file" "warning: .* is '$BACK', which is not a directory here" \
    "$("$WINDLASS" check "$VOL" 2>&1)"
expect_match "from the command line" \
    "^command line: warning: .* is '/nonexist', which is missing here" \
    "$("$WINDLASS" check --xlator-option posix.directory=/nonexist "$VOL" 2>&1)"
