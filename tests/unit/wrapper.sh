#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# ./windlass in the source folder runs the fastest build that there is, whatever was built last, and
# an older one says that it is old; --version tells which build runs, and how it was compiled.
# builds: debug
set -u
status=0
# expect WHAT WANTED GOT
expect () {
    [ "$2" = "$3" ] && return
    printf '%s: wanted "%s", got "%s"\n' "$1" "$2" "$3"
    status=1
}

# A source folder whose builds are a Makefile and a program each.
cd "$TEST_DIR" || exit 1
mkdir tools
cp "$SOURCE_DIR/tools/build" tools/
# tree NAME SANITIZERS: as if it were built just now. configure writes config.h before stamp-h1.
tree () {
    mkdir -p "build/$1/src"
    printf '%s\n' "SANITIZERS = $2" 'programs: config.h' 'config.h: stamp-h1 ; @test -f config.h' \
        >"build/$1/Makefile"
    touch -d '1 minute ago' "build/$1/config.h"
    touch "build/$1/stamp-h1"
    printf '#!/bin/sh\necho %s\n' "$1" >"build/$1/windlass"
    printf '#!/bin/sh\n' >"build/$1/src/windlass"
    chmod +x "build/$1/windlass" "build/$1/src/windlass"
}
# linked TREE...: after these were built, what ./windlass runs, and what is said.
linked () {
    ( . tools/build; build_link_wrapper "$@" ) >said
    ./windlass
}

tree debug -fsanitize=address
expect "the only build" debug "$(linked build/debug)"
expect "what is said of it" \
    "./windlass runs build/debug, which has sanitizers and is slow: ./try makes a fast build" \
    "$(cat said)"
tree release ''
expect "beside a faster one" release "$(linked build/debug build/release)"
expect "what is said of one that is new" '' "$(cat said)"
expect "of builds that were there" release "$(linked build/debug)"
printf 'SANITIZERS = \nprograms: ; @false\n' >build/release/Makefile
expect "one that is old" release "$(linked build/debug)"
expect "what is said of it" "./windlass runs build/release, which has no sanitizers, but is older\
 than the sources: 'make -C build/release' compiles what has changed" "$(cat said)"
mkdir build/src
cp build/release/src/windlass build/src/
printf 'SANITIZERS = \nprograms:\n' >build/Makefile
printf '#!/bin/sh\necho try\n' >build/windlass
chmod +x build/windlass
expect "what ./try has built" try "$(linked build)"
expect "as ./check leaves it" release "$(linked build/debug build/release)"

version=$("$WINDLASS" --version)
built=$(sed -n 's/^build: //p' <<<"$version")
expect "the program of --version" "$BUILD_DIR/src/windlass" \
    "$(sed -n 's/^program: //p' <<<"$version")"
sanitizers=$(sed -n 's/^SANITIZERS = //p' "$BUILD_DIR/Makefile")
case $sanitizers in
    *=address*) kind='with the address sanitizer' ;;
    *=thread*) kind='with the thread sanitizer' ;;
    *) kind='without sanitizers' ;;
esac
[[ $built == *optimized*"$kind"* ]] || expect "how it was compiled" "$kind" "$built"
exit $status
