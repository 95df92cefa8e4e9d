#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What bash offers after each of these lines.
set -u
status=0
. "$SOURCE_DIR/completion/windlass"
cd "$TEST_DIR" || exit 1
touch my.vol other.txt

# offers EXPECTED WORD...: the last word is the one being completed.
offers () {
    local expected=$1 got
    shift
    COMP_WORDS=("$WINDLASS" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _windlass
    got=${COMPREPLY[*]}
    [[ $got == "$expected" ]] && return
    echo "after '$*': expected '$expected', got '$got'"
    status=1
}

offers check che
offers 'graph' gra
offers encryption/rot-13 help enc
offers my.vol check m
offers my.vol graph m
offers my.vol -f ''
offers --volfile= --volf
offers --dot graph --do
offers 'on off' --read-only =
offers off --read-only = of
offers DEBUG -L D
offers '' counts /nowhere-
offers my.vol fault /mnt my
offers start timeline star
offers 'start stop' trace st
offers '' trace start /nowhere-
offers --translator= trace start /mnt --tr
offers other.txt tell /mnt volume rules o
exit $status
