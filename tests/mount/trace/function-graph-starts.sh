#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A trace is started and stopped 200 or 1,000 times while processes write, read and look up: each
# request is answered, with the right data, and all that is printed meanwhile is balanced.
# builds: release tsan debug
# longer
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_function_graph
stack encryption/rot-13
mount_volfile "$VOL"

# worker N: works until there is a file called stop; writes errors to wrong.N, and the number of its
# rounds to done.N.
worker () {
    local i=0
    until [ -e stop ]; do
        i=$((i + 1))
        echo "$1 $i" >"$MNT/file$1" || echo "write $i" >>"wrong.$1"
        [ "$(<"$MNT/file$1")" = "$1 $i" ] || echo "read $i" >>"wrong.$1"
        mv "$MNT/file$1" "$MNT/moved$1" || echo "rename $i" >>"wrong.$1"
        [ -e "$MNT/moved$1" ] || echo "stat $i" >>"wrong.$1"
        [ $i != 11 ] || : >"enough.$1"
        ((i % 50)) || dd if=/dev/zero of="$MNT/large$1" bs=128k count=8 2>/dev/null ||
            echo "large $i" >>"wrong.$1"
    done
    echo $i >"done.$1"
}
for n in 1 2 3; do worker $n & done

rounds=$(amount 2 10)
# Some more rounds where a worker came to nothing meanwhile.
for ((round = 1; round <= rounds || SECONDS < 150 && $(ls enough.* 2>/dev/null |
    wc -l) < 3; round++)); do
    "$PROGRAMS/starts" "$MNT" 100 >>times || { touch stop; fail "round $round"; }
    trace_cat "cat.$round" --all
done
touch stop
wait
cat times
for n in 1 2 3; do
    [ ! -e wrong.$n ] || fail "worker $n: $(head wrong.$n)"
    [ "$(cat done.$n)" -gt 10 ] || fail "worker $n did next to nothing: $(cat done.$n)"
done
expect "what is left" \
    "$(printf '1 %s\n2 %s\n3 %s\n' "$(cat done.1)" "$(cat done.2)" "$(cat done.3)")" \
    "$(cat "$MNT"/moved[123])"
wait_until '"$WINDLASS" counts "$MNT" | grep -qx requests=0'
expect_error "no trace is on" "$WINDLASS" trace stop "$MNT"
unmount
