#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tools/build-libfuse says in one line why it cannot build a libfuse, leaves files of others alone,
# and builds nothing twice.
. "$(dirname "$0")/../lib.sh"

tools=$PATH
build () {
    PATH=$tools "$SOURCE_DIR/tools/build-libfuse" "$@"
}

# refused WHAT REGEX ARGUMENTS...
refused () {
    local what=$1 regex=$2 said
    shift 2
    said=$(build "$@" 2>&1) && fail "$what: it succeeded"
    expect "$what: one line" 1 "$(wc -l <<<"$said")"
    expect_match "$what" "$regex" "$said"
}

refused 'an unknown option' "no option '--fast'" --fast
refused 'two folders' "at most, got 'one' and 'two'" one two
refused 'a name with a blank' "no newer libfuse: .*blanks.*'.*/a b'" "$TEST_DIR/a b"

mkdir mine
echo precious >mine/file
refused "somebody's folder" "mine' is there already and wasn't made by this" mine
expect "somebody's file" precious "$(cat mine/file)"

# A system without apt, one whose apt has no sources, and one that is offline.
mkdir bin
for tool in sh sed dirname env mkdir ls mktemp rm grep tail cut chmod chown id awk cat sort dpkg \
    apt-cache; do
    ln -s "$(command -v $tool || echo /bin/false)" "bin/$tool"
done
tools=$TEST_DIR/bin
refused 'no apt' "no newer libfuse: there is no apt-get, and this knows source packages" new
if grep -Eq '^ID=(debian|ubuntu)$' /etc/os-release; then
    # What a machine's apt says: of its sources nothing, or a mirror; then that it can't reach it.
    cat >bin/apt-get <<'END'
#!/bin/sh
case " $* " in
    *' indextargets '*)
        . /etc/os-release
        [ ! -e sources ] || echo "$VERSION_CODENAME main http://mirror.invalid/debian" ;;
    *) echo "E: Failed to fetch $*: Could not resolve 'mirror.invalid'" >&2; exit 100 ;;
esac
END
    chmod +x bin/apt-get
    refused 'no sources' "no newer libfuse: apt has no source for '.* main'" new
    touch sources
    refused 'offline' \
        "no newer libfuse: can't get the list .* from http://mirror.invalid/debian: E: .*resolve" \
        new
fi
[ ! -e new ] || fail 'something was made'

# What is built is taken as it is: no apt is asked.
mkdir new
grep -o '^recipe=[0-9]*' "$SOURCE_DIR/tools/build-libfuse" | tr = ' ' >new/built-by-windlass
build new || fail 'what is built is built again'
