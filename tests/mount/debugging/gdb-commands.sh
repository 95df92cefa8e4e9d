#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# gdb's view of a daemon that is stuck, the same in a live process and in core dumps of it: the
# graph, options, the request that is set aside on no thread's stack and the one that waits in a
# system call, inodes by all their names, fds. Wrong input gives a line, not a traceback.
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command gdb gcore

stack encryption/rot-13 debug/delay-gen,delay-percentage=1%,delay-duration=3600000000,enable=writev
mount_volfile "$VOL" --xlator-option delay-gen-2.delay-percentage=100%
gdb -nx -batch -p "$DAEMON" >attach 2>&1
! grep -q 'not permitted' attach ||
    skip "needs the right to attach to a process: $(grep -m 1 'not permitted' attach)"
mkdir "$MNT/folder"
: >"$MNT/folder/stuck"
printf 'some bytes' >>"$MNT/folder/stuck" &
writer=$!
wait_until '"$WINDLASS" inflight "$MNT" | grep -q ": writev"'

cat >script <<END
set pagination off
set width 0
python
import gdb
def each(*commands):
    for command in commands:
        print("=== " + command)
        try:
            gdb.execute(command)
        except gdb.error as problem:
            print("error: %s" % problem)
each("xl graph", "xl frames", "xl frames --age", "xl frames --age 1h", "xl options rot-13-1",
     "xl options delay-gen-2", "xl inode /folder/stuck", "xl inode 1", "xl", "help xl wind")
lines = gdb.execute("xl frames", to_string=True).split()
fd = next(word for word in lines if word.startswith("fd=")).split("=")[1]
frame = next(word for word in lines if word.startswith("0x")).rstrip(",")
inode = gdb.execute("xl inode /folder/stuck", to_string=True)
gfid = inode.split("gfid")[1].split(",")[0].strip()
nodeid = inode.split("nodeid")[1].split()[0].rstrip(",")
each("xl fd " + fd, "xl frame " + frame, "xl inode " + gfid, "xl inode " + nodeid,
     "xl inode ((fd_t *) %s)->inode" % fd)
for kind, expression in (("frame", "*(call_frame_t *) " + frame),
                         ("gfid", "((fd_t *) %s)->inode->gfid" % fd),
                         ("fd", "*(fd_t *) " + fd),
                         ("root", "*((call_frame_t *) %s)->root" % frame),
                         ("xlator", "*((call_frame_t *) %s)->this" % frame),
                         ("inode", "*((fd_t *) %s)->inode" % fd)):
    print("=== printer " + kind)
    gdb.execute("p " + expression)
print("=== nothing")
each("thread 1", "xl frame")
print("=== wrong")
each("xl graph x", "xl frames x", "xl frames --age x", "xl frames --age 1 2", "xl frame 1234",
     "xl frame nothing", "xl inode", "xl inode /nowhere", "xl inode 99999999",
     "xl inode 00000000-1111-2222-3333-444444444444", "xl inode 0x10", "xl fd", "xl fd 0x10",
     "xl fd " + frame, "xl options", "xl options nobody", "xl break", "xl break wrtev",
     "xl wind now", "xl nothing")
print("=== end")
end
END

part () {
    sed -n "\\|^=== $1\$|,/^=== /p" "$file" | sed '/^=== /d'
}

# Of the mistakes: all lines from there on.
wrong () {
    sed -n '/^=== wrong/,/^=== end/p' "$file"
}

check () {
    file=$1
    expect_match "$file: it ran to its end" '^=== end$' "$(cat "$file")"
    expect_no_match "$file: nothing but messages" 'Traceback|Exception|Error: <' \
        "$(cat "$file" "$file.err")"
    expect "$file: the graph's order" "fuse delay-gen-2 rot-13-1 posix" \
        "$(part 'xl graph' | sed -n 's/^ *\([a-z0-9-]*\) (.*) 0x.*/\1/p' | xargs)"
    expect_match "$file: an option of the graph" \
        '^      posix \(storage/posix\) 0x[0-9a-f]+  directory=' "$(part 'xl graph')"
    for with in '' ' --age'; do
        expect_match "$file: the request$with" \
            '^request [0-9]+ writev /folder/stuck, [0-9.]+ s old, pid [0-9]+' \
            "$(part "xl frames$with")"
        expect_match "$file: who wound it" \
            'writev at delay-gen-2 .*, wound by fuse_write at write.c:[0-9]+, answer to fuse_writev_cbk$' \
            "$(part "xl frames$with")"
        expect_match "$file: its arguments" \
            'fd=0x.*\{/folder/stuck, .*vector=.*\{10 bytes: "some bytes"\}, count=1, offset=0, flags=0' \
            "$(part "xl frames$with")"
        expect_match "$file: where it is" \
            'set aside in call_stub 0x[0-9a-f]+, to be resumed by passed_writev' \
            "$(part "xl frames$with")"
    done
    expect "$file: nothing is so old" "no request is in flight that is as old as 1h" \
        "$(part 'xl frames --age 1h')"
    expect_match "$file: an option of the volfile" \
        '^  delay-duration +3600000000 +.*test.vol:[0-9]+:[0-9]+  \[3600000000\]$' \
        "$(part 'xl options delay-gen-2')"
    expect_match "$file: one that wasn't set" '^  seed +- +default' \
        "$(part 'xl options delay-gen-2')"
    expect_match "$file: one of the command line" \
        '^  delay-percentage +100% +command line  \[100\]$' "$(part 'xl options delay-gen-2')"
    expect_match "$file: an inode's names" "^  name +'stuck' in /folder$" \
        "$(part 'xl inode /folder/stuck')"
    expect "$file: by each of its names it is the same" 3 \
        "$(sed -n '/^=== xl fd/,/^=== printer/p' "$file" |
        grep -c '^inode 0x[0-9a-f]*: /folder/stuck$')"
    expect_match "$file: the root" '^inode 0x[0-9a-f]+: /$' "$(part 'xl inode 1')"
    expect_match "$file: an fd" '^fd 0x[0-9a-f]+: /folder/stuck, flags 0' "$(part 'xl fd 0x.*')"
    expect_match "$file: a frame" '^  answer to fuse_writev_cbk at write.c:[0-9]+$' \
        "$(part 'xl frame 0x.*')"
    expect_match "$file: who is above" '^  above +fuse$' "$(part 'xl frame 0x.*')"
    expect_match "$file: a frame, printed" \
        '^\$[0-9]+ = writev fuse -> delay-gen-2 \(waits\) = \{root = ' "$(part 'printer frame')"
    expect_match "$file: a gfid, printed" '^\$[0-9]+ = [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' \
        "$(part 'printer gfid')"
    expect_match "$file: a request, printed" '^\$[0-9]+ = request [0-9]+ writev, uid ' \
        "$(part 'printer root')"
    expect_match "$file: a translator, printed" \
        "^\\\$[0-9]+ = 'delay-gen-2' \\(debug/delay-gen\\) = \\{" "$(part 'printer xlator')"
    expect_match "$file: an inode, printed" '^\$[0-9]+ = /folder/stuck, nodeid [0-9]+, gfid ' \
        "$(part 'printer inode')"
    expect_no_match "$file: all of it could be read" '<unreadable' "$(cat "$file")"
    expect "$file: all commands are listed" 9 "$(part xl | grep -c '^xl [a-z]* -- [A-Z]')"
    expect_match "$file: with what they do" '^Runs to the next translator of this request' \
        "$(part 'help xl wind')"
    # Nothing to show is no mistake: it would end a script.
    expect "$file: no request here" \
        "xl frame: no request is at work in the selected stack frame or its callers; \
\`xl frames\` lists all of them, and \`xl frame ADDRESS\` shows one" \
        "$(sed -n '/^=== xl frame$/,/^===/p' "$file" | sed -n 2p)"
    expect "$file: each mistake has a line" "$(wrong | grep -c '^=== xl')" \
        "$(wrong | grep -c '^error: [^<]')"
}

RUN="gdb -nx -batch -x script -p $DAEMON" "$WINDLASS" >live 2>live.err # as README has it
check live
if [ "$BUILD_NAME" = debug ]; then
    # A core dump holds a sanitizer's address space: 2 TB, which gcore takes minutes for.
    kill -9 $writer
    exit 0
fi
gcore -o dump "$DAEMON" >gcore.out 2>&1 ||
    skip "needs a gcore that can dump the daemon: $(tail -n 1 gcore.out)"
RUN="gdb -nx -batch -x script -c dump.$DAEMON" "$WINDLASS" >core 2>core.err # as README has it
check core
rm "dump.$DAEMON"
kill -9 $writer
