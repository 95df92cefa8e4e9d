#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What bash offers after each of these lines.
set -u
status=0
. "$SOURCE_DIR/completion/windlass"
cd "$TEST_DIR" || exit 1
touch my.vol other.txt
cat >stub <<'END'
#!/bin/sh
case $1,$2 in
    tell,/mnt)
        printf '%s\n' '-: the daemon itself' '  counts: how many: there are' \
            'faulty: type debug/fault' '  rules: take them' ;;
    graph,/mnt)
        printf '%s\n' '+--+' ' 1: volume low' ' 2:     type storage/posix' ' 3: end-volume' \
            '12: volume rot' '12: volume $(touch${IFS}ran)' '13:     subvolumes low' ;;
    *) exec "$WINDLASS" "$@" ;;
esac
END
chmod +x stub
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

# What a mount has, which its daemon says.
program=$TEST_DIR/stub
offers '- faulty' tell /mnt ''
offers rules tell /mnt faulty ''
offers counts tell /mnt - co
offers 'low rot' trace start /mnt --translator = ''
offers rot stats /mnt --histogram r
offers rot.writev stats /mnt --histogram rot.wr
[[ ! -e ran ]] || { echo "a name of a volume was run"; status=1; }
exit $status
