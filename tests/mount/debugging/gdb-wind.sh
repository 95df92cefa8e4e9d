#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# xl break, xl wind and xl unwind in gdb: a write is followed from fuse_write down and up again,
# from the thread that read it to the thread that continues after debug/delay-gen. Other requests do
# not interfere, the end of the request is reported, and a core dump or no process is refused.
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command gdb

stack encryption/rot-13 debug/delay-gen,delay-percentage=100%,delay-duration=200000,enable=writev \
    encryption/rot-13
cat >script <<'END'
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
each("xl wind", "xl frames", "xl break writev")
gdb.execute("break fuse_write if size == 7")
gdb.execute("run")
each("info breakpoints", "xl wind")
gdb.execute("delete")
# Other requests may come from here on: no breakpoint is left for them.
gdb.execute("shell touch stopped")
gdb.execute("python print('UPPER ' + gdb.selected_frame().name())")
for step in range(8):
    each("xl wind" if step < 3 else "xl unwind")
    frame = gdb.selected_frame()
    print("AT %s on %s" % (frame.name(), gdb.selected_thread().name))
    print("FRAME " + " ".join(gdb.execute("xl frame", to_string=True).split("\n")[0].split()[2:])
          if step < 5 else "")
    if "is over" in gdb.execute("xl frames", to_string=True) or frame.name() == "stack_done":
        break
print("=== end")
end
END
# Two more clients write all the time.
(
    wait_until is_mounted
    echo wanted >"$MNT/wanted" &
    wait_until "[ -e stopped ]"
    for i in 1 2; do while is_mounted; do echo noise >"$MNT/noise$i"; done 2>/dev/null & done
    wait_until "grep -q '^=== end' gdb.out"
    if [ "$(id -u)" = 0 ]; then umount -l "$MNT"; else fusermount3 -u -z "$MNT"; fi
    wait
) >/dev/null 2>&1 &
RUN="gdb -nx -batch -x script" timeout 250 "$WINDLASS" -N -l "$LOG" -f "$VOL" \
    "$MNT" >gdb.out 2>gdb.err
expect_match "it ran to its end" '^=== end$' "$(cat gdb.out gdb.err)"
expect_no_match "nothing but messages" 'Traceback|Exception' "$(cat gdb.out gdb.err)"
expect "without a process" 2 "$(grep -c '^error: xl [a-z]*: there is no process' gdb.out)"
expect_match "before modules are loaded" \
    '^writev: [0-9]+ places?; more when translators are loaded$' "$(cat gdb.out)"
breaks=$(sed -n '/^=== info/,/^=== xl/p' gdb.out)
for function in fuse_writev_cbk rot13_writev rot13_writev_cbk delaygen_any_fop posix_writev; do
    expect_match "breakpoints of xl break" " in $function at " "$breaks"
done
expect_match "a breakpoint is met" '^UPPER rot13_writev$' "$(cat gdb.out)"
expect "the way of the request" \
    "delaygen_any_fop rot13_writev posix_writev rot13_writev_cbk rot13_writev_cbk fuse_writev_cbk stack_done" \
    "$(sed -n 's/^AT \([a-z0-9_]*\) .*/\1/p' gdb.out | xargs)"
expect "its threads: only the first is the reader's" "1 6" \
    "$(sed -n 's/^AT .* on \([a-z]*\).*/\1/p' gdb.out | uniq -c | sed 's/^ *//; s/ .*//' | xargs)"
expect "the edges" "fuse -> rot-13-3
rot-13-3 -> delay-gen-2
rot-13-3 -> rot-13-1
rot-13-1 -> posix" "$(sed -n 's/^request [0-9]*, writev: \(.*\), on thread.*/\1/p' gdb.out)"
expect "one request" 1 "$(sed -n 's/^request \([0-9]*\)[, ].*/\1/p' gdb.out | sort -u | wc -l)"
expect_match "its end" '^request [0-9]+ is over: it was answered' "$(cat gdb.out)"
