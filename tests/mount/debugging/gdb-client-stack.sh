#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A write is followed through the client's stack in gdb: wind by wind from fuse_write to
# write-behind, which answers at once; the callbacks in reverse, up to the bridge's; then, in a
# request of its own, on to storage and back to write-behind. The same where another thread
# continues the request.
# timeout: 600
# longer
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command gdb python3

sed "s|/srv/export|$BACK|" "$SOURCE_DIR/volfiles/client-stack.vol" >"$VOL"
cat >script <<'END'
set pagination off
set width 0
set breakpoint pending on
python
import gdb
def here(kind):
    print("%s %s %s" % (kind, gdb.selected_frame().name(), gdb.selected_thread().num))
def steps(command, kind, until):
    for step in range(20):
        gdb.execute(command)
        here(kind)
        if gdb.selected_frame().name() == until:
            return
gdb.execute("break fuse_write if size == 7")
gdb.execute("run")
gdb.execute("delete")
here("AT")
steps("xl wind", "DOWN", "wb_writev")
steps("xl unwind", "UP", "fuse_writev_cbk")
gdb.execute("xl frames")
gdb.execute("xl break writev")
for step in range(10):
    gdb.execute("continue")
    here("LATER")
    if step == 0:
        gdb.execute("xl frame")
    if gdb.selected_frame().name() == "wb_write_cbk":
        break
gdb.execute("delete")
print("=== end")
end
END
way () { sed -n "s/^$1 \([a-z0-9_]*\) .*/\1/p" gdb.out | xargs; }

walk () { # OPTION...
    (
        wait_until is_mounted
        echo wanted >"$MNT/wanted" &
        wait_until 280 "grep -q '^=== end' gdb.out"
        if [ "$(id -u)" = 0 ]; then umount -l "$MNT"; else fusermount3 -u -z "$MNT"; fi
        wait
    ) >/dev/null 2>&1 &
    local helper=$!
    RUN="gdb -nx -batch -x script" timeout 280 "$WINDLASS" -N "$@" -l "$LOG" -f "$VOL" \
        "$MNT" >gdb.out 2>gdb.err
    expect_match "it ran to its end" '^=== end$' "$(cat gdb.out gdb.err)"
    wait $helper # what it unmounts is dead
    expect_no_match "nothing but messages" 'Traceback|Exception' "$(cat gdb.out gdb.err)"
    # What has nothing to do with a write is not on its way.
    expect_match "down" \
        '^io_stats_any_fop (iot_[a-z_]+ )?mdc_any_fop qr_any_fop ob_writev rda_any_fop wb_writev$' \
        "$(way DOWN)"
    expect_match "up, as it was answered early" \
        '^(rda_[a-z_]+_cbk )?(ob_[a-z_]+_cbk )?(qr_[a-z_]+_cbk )?mdc_any_fop_cbk (iot_[a-z_]+_cbk )?io_stats_any_fop_cbk fuse_writev_cbk$' \
        "$(way UP)"
    expect_match "later, on its own account" \
        '^(gf_utime_any_fop )?posix_writev (gf_utime_writev_cbk )?wb_write_cbk$' "$(way LATER)"
    expect_match "whose request that is" 'caused by request' "$(cat gdb.out)"
    expect "what was written" wanted "$(cat "$BACK/wanted")"
    rm gdb.out "$BACK/wanted"
}

walk
