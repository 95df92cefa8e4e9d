#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# USDT probes: the program lists those of every operation, and each is a nop; the installed bpftrace
# scripts report what a workload did. When the last script has ended nothing is watched any more.
# timeout: 400
. "$(dirname "$0")/../lib.sh"
need_command readelf objdump
# A copy: bpftrace attaches to every process of a file, and would watch other tests' mounts, too.
program=$TEST_DIR/windlass
cp "$BUILD_DIR/src/windlass" "$program"
WINDLASS=$program
notes=$(readelf -n "$program")
grep -q 'Provider: windlass' <<<"$notes" || skip "needs a build with <sys/sdt.h>"

# --- in the program -------------------------------------------------------------------------------

fops=$(sed -n 's/^FOP (\(.*\))$/\1/p' "$SOURCE_DIR/src/fops.def")
wanted=$(for fop in $fops; do echo "${fop}_end"; echo "${fop}_start"; done; echo unwind; echo wind
    echo server_reply; echo server_send)
expect "the probes" "$(sort <<<"$wanted")" "$(sed -n 's/^ *Name: //p' <<<"$notes" | sort)"
for place in $(sed -n 's/^ *Location: 0x0*\([0-9a-f]*\),.*/\1/p' <<<"$notes" |
    sort -R --random-source=/dev/zero | head -n 8); do
    expect_match "what is at 0x$place" '\snop' \
        "$(objdump -d --start-address="0x$place" --stop-address=$((0x$place + 1)) "$program")"
done
# The semaphores of a pair are side by side, at a multiple of 4.
awk '/Name:/ { name = $2 } /Semaphore:/ && name !~ /^server_/ { print name, $NF }' <<<"$notes" |
    while read -r name at; do
    case $name in
        wind | *_start) [ $((at % 4)) = 0 ] ;;
        *) [ $((at % 4)) = 2 ] ;;
    esac || fail "the semaphore of $name is at $at"
done || exit 1

# --- with bpftrace --------------------------------------------------------------------------------

need_root
need_command bpftrace
[ -e /sys/bus/event_source/devices/uprobe ] || skip "needs a kernel with uprobes"
said=$(timeout 60 bpftrace -e 'BEGIN { printf ("it works\n"); exit (); }' 2>&1)
grep -q 'it works' <<<"$said" || skip "bpftrace can't work here: $(tail -n 1 <<<"$said")"

stack debug/delay-gen,delay-percentage=100%,delay-duration=20000,enable=writev encryption/rot-13
mount_volfile "$VOL"
timers () {
    "$WINDLASS" counts "$MNT" | sed -n 's/^timers=//p'
}
before=$(timers)

tracers=()
# trace NAME ARGUMENT...: bpftrace, in the background; its output goes to NAME. It attaches within
# seconds, then prints its first line.
trace () {
    local name=$1
    shift
    bpftrace "$@" >"$name" 2>"$name.errors" &
    tracers+=("$!")
    wait_until "grep -q 'Ctrl-C\|ready' $name || ! is_running $!"
    is_running "$!" || fail "bpftrace $*: $(cat "$name" "$name.errors")"
    echo "$name is attached after $SECONDS s"
}
# SIGINT does not end bpftrace 0.17 while it checks whether its process is there: it notes the
# signal, and waits for another. A second SIGINT could end it while it prints its maps; a stop and a
# continue interrupt that wait, and nothing else. Do this rarely: when nothing comes for 100 ms,
# uninterrupted, bpftrace knows that it has seen the last event.
end_of_tracer () {
    local began=$SECONDS
    kill -INT "$1"
    while ! wait_a_second_for "! is_running $1"; do
        [ $((SECONDS - began)) -lt 60 ] || fail "bpftrace ($1) goes on 60 s after SIGINT"
        { kill -STOP "$1" && kill -CONT "$1"; } 2>/dev/null # it may just have ended
    done
}
wait_a_second_for () {
    for _ in {1..20}; do
        eval "$1" && return 0
        sleep 0.05
    done
    return 1
}
scripts=$SOURCE_DIR/src/trace/bpftrace
trace fops -p "$DAEMON" "$scripts/fop-latency.bt"
trace translators -p "$DAEMON" "$scripts/translator-latency.bt"
trace slow -p "$DAEMON" "$scripts/slow-requests.bt" 15
trace all -p "$DAEMON" "$scripts/slow-requests.bt" 0
trace errors -p "$DAEMON" "$scripts/errors.bt"
# Without a process: the program's path.
trace path -e "BEGIN { printf (\"ready\\n\"); } usdt:$program:windlass:writev_start {
    printf (\"%s|%s|%d|%d|%s\\n\", str (arg1), str (arg2), arg3, arg4, str (arg5)); }
    usdt:$program:windlass:mkdir_end { printf (\"%d|%s\\n\", (int32) arg1, str (arg4)); }
    usdt:$program:windlass:mkdir_start { printf (\"%s|%s\\n\", str (arg1), str (arg2)); }"

mkdir "$MNT/dir" "$MNT/dir/in"
printf '0123456789' >"$MNT/dir/file"
cat "$MNT/dir/file" >/dev/null
cat "$MNT/missing" 2>/dev/null
wait_until '[ "$(timers)" -gt '"$before"' ]'
echo "the work is done after $SECONDS s"
for tracer in "${tracers[@]}"; do
    end_of_tracer "$tracer"
done
wait "${tracers[@]}"

# At least: on a busy machine it may be much more.
twenty_ms='(2[0-9]|[3-9][0-9]|[0-9]{3,})'
expect_match "a histogram of writes" '^@us\[writev\]:' "$(cat fops)"
expect_match "of more than 16 ms" \
    '^\[(16|32|64|128|256|512)K, [0-9]+[KM]\) +1 |^\[[0-9]+M, [0-9]+M\) +1 ' \
    "$(sed -n '/writev/,/^$/p' fops)"
expect_match "failed lookups" '^@failed\[lookup\]: [1-9]' "$(cat fops)"
expect_match "a histogram of rot-13" '^@own_ns\[rot-13-2\]:' "$(cat translators)"
expect_match "who took the time" '^@own_us_sum\[delay-gen-1, writev\]: '"$twenty_ms"'[0-9]{3}$' \
    "$(cat translators)"
expect_match "the slow one" '^ +[0-9]+ +'"$twenty_ms"'\.[0-9]{3} writev +0 /dir/file$' "$(cat slow)"
expect "no other" 1 "$(grep -c ' writev ' slow)"
expect_match "of all" '^operations of 0 ms' "$(cat all)"
expect_match "all" '^ +[0-9]+ +[0-9]+\.[0-9]{3} mkdir +0 /dir/in$' "$(cat all)"
expect_match "errors" '^@errors\[posix, lookup, 2, ENOENT\]: [1-9]' "$(cat errors)"
expect_no_match "only what was counted" '^@name' "$(cat errors)"
expect_match "what a write is about" '^/dir/file\|\|0\|10\|writev$' "$(cat path)"
expect_match "what a mkdir is about" '^/dir\|in$' "$(cat path)"
expect_match "how it went" '^0\|/dir/in$' "$(cat path)"

# No process is attached: a little later no probe fires, and no timer looks.
wait_until '[ "$(timers)" = '"$before"' ]'
expect "it works on" 0123456789 "$(cat "$MNT/dir/file")"
