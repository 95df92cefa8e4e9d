#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every translator is complete: it loads and describes itself, has a manual page, a volfile of its
# own and a row in README's table, and exports nothing but xlator_api. The table has no other.
. "$(dirname "$0")/../mount/lib.sh"
need_command nm

for dir in "$SOURCE_DIR"/xlators/*/*/; do
    name=$(basename "$dir")
    type=$(basename "$(dirname "$dir")")/$name
    page=${type/\//-}
    echo "$type"

    help=$("$WINDLASS" help "$type") || fail "'windlass help $type' fails"
    expect_match "the help of $type names it" "^$type" "$help"
    expect_match "the list of translators has it" "^ *$type " "$("$WINDLASS" help)"

    ls "$SOURCE_DIR"/man/"$page".* >/dev/null 2>&1 || fail "$type has no man/$page.*"
    for option in $("$WINDLASS" help --man "$type" |
        sed -n 's/^\.B[A-Z]* *"\{0,1\}\([a-z][a-z0-9-]*\).*/\1/p'); do
        expect_match "the help has the option $option that the page has" "$option" "$help"
    done

    [ -e "$SOURCE_DIR/volfiles/$name.vol" ] || fail "$type has no volfiles/$name.vol"
    grep -q "type $type" "$SOURCE_DIR/volfiles/$name.vol" ||
        fail "volfiles/$name.vol doesn't use $type"

    expect "the row of $type in README's table" 1 \
        "$(grep -c "^      [a-z].*  *$type\$" "$SOURCE_DIR/README")"

    module=$(find "$BUILD_DIR/xlators/$(dirname "$type")" -name "$name.so" | head -n 1)
    [ -n "$module" ] || fail "no module of $type below $BUILD_DIR/xlators"
    expect "what $module exports" xlator_api \
        "$(nm -D --defined-only "$module" | sed 's/.* //' | grep -v '^_' | sort -u)"
done

while read -r type; do
    [ -d "$SOURCE_DIR/xlators/$type" ] || fail "README's table has $type, which isn't ours"
done < <(sed -n '/^Translators$/,/^Install$/s/^      [a-z].* \([a-z0-9-]*\/[a-z0-9-]*\)$/\1/p' \
    "$SOURCE_DIR/README")
