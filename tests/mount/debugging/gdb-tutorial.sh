#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The classic tutorial's session in gdb: it steps through a write, from rot13_writev down to posix
# and back.
# builds: release only
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command gdb

stack encryption/rot-13

# The steps until the frame's function is the one named; too many say so.
cat >steps.py <<'END'
import gdb

def step_to(names):
    """Steps until one of these functions, and prints each that is met on the way."""
    met = []
    for _ in range(400):
        gdb.execute("step", to_string=True)
        name = gdb.selected_frame().name()
        if not met or met[-1] != name:
            met.append(name)
        if name in names:
            break
    print("MET " + " ".join(str(name) for name in met))
END
cat >script <<'END'
set pagination off
set breakpoint pending on
set width 0
source steps.py
break rot13_writev
run
echo \n=== arguments\n
info args
p vector[0]
p *(char (*)[8]) vector[0].iov_base
echo \n=== rotation\n
python step_to(["rot13_bytes", "rot13_iovec"])
echo \n=== wind\n
python step_to(["posix_writev"])
echo \n=== unwind\n
python step_to(["rot13_writev_cbk"])
echo \n=== callback\n
bt
p frame->parent->this->name
info threads
echo \n=== end\n
delete
continue
END

(
    wait_until is_mounted
    echo goodbye >"$MNT/another_file"
    wait_until "grep -q '^=== end' gdb.out"
    if [ "$(id -u)" = 0 ]; then umount "$MNT"; else fusermount3 -u "$MNT"; fi
) &
case $TEST_THROUGH in device) io_uring=off serves='fuse-[0-9]+' ;; *) io_uring=required \
    serves='fuse-ring-[0-9]+' ;; esac
RUN="gdb -nx -batch -x script" timeout 250 "$WINDLASS" --debug --io-uring=$io_uring -f "$VOL" \
    "$MNT" >gdb.out 2>gdb.err
wait

part () {
    sed -n "/^=== $1\$/,/^=== /p" gdb.out
}
for argument in frame this fd vector count offset iobref; do
    expect_match "the arguments" "^$argument = " "$(part arguments)"
done
expect_match "the thread's name, as README has it" "^Thread [0-9]+ \"$serves\" hit Breakpoint 1" \
    "$(cat gdb.out)"
expect_match "vector[0]" 'iov_base = 0x[0-9a-f]+, iov_len = 8' "$(part arguments)"
expect_match "the data" '= "goodbye.n"$' "$(part arguments)"
expect_match "steps into the rotation" '^MET .*rot13_(iovec|bytes)$' "$(part rotation)"
expect_match "steps over STACK_WIND" '^MET .*posix_writev$' "$(part wind)"
expect_match "steps over STACK_UNWIND" '^MET .*posix_[a-z_]* rot13_writev_cbk$' "$(part unwind)"
expect_no_match "what is stepped over" '^MET.* (frame|iov|iobref|iobuf)_' "$(cat gdb.out)"

order=$(part callback |
    sed -n 's/^#[0-9]* .*\(rot13_writev_cbk\|posix_writev\|rot13_writev\|fuse_[a-z_]*\) (.*/\1/p' |
    uniq | head -n 4 | tr '\n' ' ')
expect_match "the order of the backtrace" \
    '^rot13_writev_cbk posix_writev rot13_writev fuse_write $' "$order"
expect_match "the parent's name" '^\$[0-9]+ = 0x[0-9a-f]+ "[^"]+"' "$(part callback)"
threads=$(part callback | sed -n 's/^[* ] [0-9]* .*Thread .*"\(.*\)".*/\1/p')
[ "$(wc -l <<<"$threads")" -gt 1 ] || fail "gdb shows no threads: $(part callback)"
expect_no_match "threads without a name of their own" '^$' "$threads"
