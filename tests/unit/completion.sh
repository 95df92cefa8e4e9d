#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What bash offers after each of these lines; mount/run/completion has what takes a mount, and the
# other shells.
set -u
status=0
. "$SOURCE_DIR/completion/windlass"
cd "$TEST_DIR" || exit 1
touch my.vol other.txt
program=$WINDLASS

# offers EXPECTED WORD...: the last word is the one being completed.
offers () {
    local expected=$1 got
    shift
    COMP_WORDS=("$program" "$@")
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
offers power-cut help power
offers '' list m
offers --lazy umount --la
offers '' umount /nowhere-
offers my.vol check m
offers my.vol graph m
offers my.vol -f ''
offers '--volfile= --volfile-server= --volfile-id=' --volf
offers --dot graph --do
offers 'on off' --read-only =
offers off --read-only = of
offers DEBUG -L D
offers '' counts /nowhere-
offers my.vol fault /mnt my
offers start timeline star
offers io-stats io-
offers 'stats json' io-stats ''
offers heal replicate he
offers '' io-stats stats /nowhere-
offers --volume= replicate --vol
offers 'start stop' trace st
offers '' trace start /nowhere-
offers --translator= trace start /mnt --tr
offers other.txt tell /mnt volume rules o

mkdir checked mountpoint
# Folders only where no subcommand begins so.
offers check chec
offers mountpoint mountp
offers checked -f my.vol che

# Values, of options that have some.
offers 'on off translator' --acl = ''
offers required --passthrough = re
offers '' --attribute-timeout = ''
offers --acl= --ac
offers acl= -o ac
offers noatime -o noat
offers ro,acl= -o ro,acl
offers translator -o acl = t
offers translator -o ro,acl = t
offers 'readdir readdirp' trace start /mnt --fop = readdir
offers writev timeline start /mnt --fop writ
offers lookup,writev timeline start /mnt --fop = lookup,writ
offers process top /mnt --by = pr
offers other.txt timeline stop /mnt -o oth

# Words of options that have an argument after them, and of one after another option.
offers 'notable all swallowed' errors /mnt --record = ''
offers --case= conform --cas
offers storage/posix help --json storage/

# Presets, their flags, and the program that a view is for.
mkdir bin
touch bin/zz-program
chmod +x bin/zz-program
offers faulty run fau
offers brick new bri
offers '' run bri
offers --stored new rot-13 /tmp --sto
offers presets help prese
PATH=$PATH:$PWD/bin offers zz-program run plain /tmp -- zz-pro

# Nothing of a word is run, and blanks are quoted.
mkdir 'a folder'
offers 'a folder' 'a\ f'
offers '' check '$(touch ran)'
[[ ! -e ran ]] || { echo "a word was run"; status=1; }
exit $status
