#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The three examples of fops(7), word for word: built with the page's own commands, mounted, used,
# and tested by the kit.
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command cc pkg-config

PAGE=$SOURCE_DIR/man/fops.7.in
# block REGEX: the first example that has such a line.
block () {
    sed -e 's/\\-/-/g; s/\\(aq/'\''/g; s/\\(ga/`/g; s/\\(ti/~/g; s/\\(ha/^/g' \
        -e 's/\\&//g; s/\\e/\\/g' "$PAGE" |
        awk -v regex="$1" '
            /^\.nf/ { inside = 1; text = ""; found = 0; next }
            /^\.fi/ { if (found) { printf "%s", text; exit } inside = 0; next }
            inside { text = text $0 "\n"; if ($0 ~ regex) found = 1 }' |
        sed "s|/tmp/import|$MNT|g; s|/tmp/export|$BACK|g"
}

# What an installed Windlass has: its headers, and its flags.
mkdir -p prefix/include prefix/lib/pkgconfig bin
ln -s "$SOURCE_DIR/src" prefix/include/windlass
ln -s "$WINDLASS" bin/windlass
sed "s|^prefix=.*|prefix=$TEST_DIR/prefix|; s|^includedir=.*|includedir=$TEST_DIR/prefix/include|" \
    "$BUILD_DIR/src/windlass.pc" >prefix/lib/pkgconfig/windlass.pc
export PKG_CONFIG_PATH=$TEST_DIR/prefix/lib/pkgconfig HOME=$TEST_DIR PATH=$TEST_DIR/bin:$PATH
XLATORS=$WINDLASS_XLATOR_PATH

# --- the first ------------------------------------------------------------------------------------

block '^/\* debug/meter' >meter.c
block '^mkdir -p ~/xl/debug' >build-meter
expect_match "the first is built" 'gcc .*pkg-config --cflags windlass' "$(cat build-meter)"
# shellcheck disable=SC1091
expect_ok bash -ec '. ./build-meter'
export WINDLASS_XLATOR_PATH=$HOME/xl:$XLATORS
# With the tree alone: the same flags, so that a wrong signature is an error there as well.
block '^gcc .*WINDLASS/src' >build-tree
expect_match "the flags of the tree" 'Werror=incompatible-pointer-types' "$(cat build-tree)"
sed 's/, uint32_t flags/, int32_t flags/; s/uint32_t flags, struct/off_t flags, struct/' meter.c \
    >wrong.c
cmp -s meter.c wrong.c && fail "nothing is wrong in wrong.c"
case $(uname -m) in
    x86_64)
        (WINDLASS=$SOURCE_DIR; . ./build-tree) || fail "the command for the tree fails"
        sed 's/meter\.c/wrong.c/' build-tree >build-wrong
        (WINDLASS=$SOURCE_DIR; . ./build-wrong) 2>/dev/null && fail "a wrong signature compiles" ;;
esac

block '^windlass help debug/meter' >use-meter
sed -n '/^volume posix/,/^end-volume.*--debug/p' use-meter | sed "s/^end-volume'.*/end-volume/" \
    >meter.vol
mount_volfile meter.vol
echo hello world >"$MNT/x"
wait_until 'grep -q "12 bytes written" "$LOG"'
unmount

# --- the second -----------------------------------------------------------------------------------

block '^/\* features/open-limit' >open-limit.c
block '^mkdir -p ~/xl/features' >build-limit
sed -i "/^export/d; /^windlass -f/d" build-limit
# shellcheck disable=SC1091
expect_ok bash -ec '. ./build-limit'
mount_volfile limit.vol
block '^exec 5<' | sed '/^umount/d' >use-limit
# shellcheck disable=SC1091
out=$( (. ./use-limit) 2>&1)
expect_match "the third open" 'Device or resource busy' "$out"
expect_match "after the reload" '^hello$' "$out"
expect_match "the command" '^1 opens had been refused$' "$out"
windlass tell "$MNT" - statedump >dumped
expect_match "the state of the translator" '^most=3$' "$(cat $(grep -o '/[^ ]*' dumped))"
expect_match "the state of an inode" '^opens=0$' "$(cat $(grep -o '/[^ ]*' dumped))"
unmount

block '^windlass conform --in-process' >test-limit
expect_match "both parts" 'case history' "$(cat test-limit)"
sed -i "s/--in-process/& --case 'in-process\/@(straight|failing)\/@(open|create)*'/
    s/--case history/& --histories 200 --seed 1/" test-limit
# shellcheck disable=SC1091
out=$(bash -ec '. ./test-limit' 2>&1) || fail "the kit: $out"
expect "two parts pass" 2 "$(grep -c ' 0 failed' <<<"$out")"
expect_match "some opens are refused" ', [0-9]+ differ by design$' "$out"

# --- the third ------------------------------------------------------------------------------------

block '"features/names"' >names.c
expect "the boundary that tests use" "" \
    "$(sed 's|features/names|test/names|' names.c | diff - "$SOURCE_DIR/tests/xlators/test/names.c")"
block 'features/names.so' >build-names
sed "/^export/d; s|^windlass -f.*|mount_volfile names.vol|
    s|--in-process|& --case 'in-process/straight/@(lookup\|create\|rename\|readdirp)*'|
    s|--case history|& --histories 50 --seed 1|" build-names >use-names
# shellcheck disable=SC1091
out=$( (. ./use-names) 2>&1)
expect_match "the name in storage" '^yrggre$' "$out"
expect_match "the file" '^hello$' "$out"
expect "two parts pass" 2 "$(grep -c ' 0 failed' <<<"$out")"
