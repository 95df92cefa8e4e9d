#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# .meta/frames has each request under way, with the translators it is in and the source line of each
# wind. It is valid JSON also while requests come and go, and is answered while others hang.
# builds: release debug tsan
# longer
. "$(dirname "$0")/../lib.sh"
need_command python3
echo text >"$BACK/file"
stack debug/fault encryption/rot-13
mount_volfile "$VOL"
M=$MNT/.meta

# frames EXPRESSION: of what the file says, as f.
frames () {
    python3 -c 'import json, sys
f = json.load(open(sys.argv[1])); s = f["Stack"]; print(eval(sys.argv[2]))' "$M/frames" "$1"
}

# A request ends after its answer.
wait_until '[ "$("$WINDLASS" counts "$MNT" | sed -n "s/^requests=//p")" = 0 ]'
expect "when nothing goes on" "0 []" "$(frames '"%d %s" % (f["Call_Count"], s)')"
echo 'writev -> hang' >rules
expect_ok "$WINDLASS" fault "$MNT" rules
echo more >>"$MNT/file" &
writer=$!
wait_until "'$WINDLASS' fault '$MNT' --show | grep -q 'waiting 1\$'"
expect "what is under way" "1 WRITE $(id -u) $(id -g) $writer" \
    "$(frames '" ".join(str(x) for x in [f["Call_Count"]]
        + [s[0][k] for k in ("Type", "UID", "GID", "PID")])')"
expect "its frames" "1 fuse,2 rot-13-2,3 fault-1" \
    "$(frames '",".join("%d %s" % (x["Number"], x["Xlator"]) for x in s[0]["Frame"])')"
expect "who has answered" "0 0 0" "$(frames '" ".join(str(x["Complete"]) for x in s[0]["Frame"])')"
expect "the last one's" "rot-13-2 rot13_writev fault-1->fops->writev None rot-13-2->writev_cbk" \
    "$(frames '" ".join(str(s[0]["Frame"][-1][k]).split(" ")[0]
        for k in ("Parent", "Wind_from", "Wind_to", "Unwind_from", "Unwind_to"))')"
line=$(grep -n 'STACK_WIND.*rot13_writev_cbk' "$SOURCE_DIR/xlators/encryption/rot-13/rot13.c" |
    cut -d: -f1)
expect "where it was wound" "rot13_writev (rot13.c:$line)" \
    "$(frames 's[0]["Frame"][-1]["Wind_from"]')"
expect "what is read again" "$(cat "$M/frames")" "$(cat "$M/frames")"
expect_ok "$WINDLASS" fault "$MNT" --clear
wait $writer
wait_until '[ "$(frames "f[\"Call_Count\"]")" = 0 ]'

# While requests come and go.
times=$(amount 10 40)
for n in 1 2 3; do
    (until [ -e stop ]; do echo "$n" >>"$MNT/file"; cat "$MNT/file" >/dev/null; done) &
done
for _ in $(seq "$times"); do
    frames 'f["Call_Count"] == len(s) and all(x["Frame"][0]["Xlator"] == "fuse" for x in s)' >>seen
done
touch stop
wait
expect "what was read meanwhile" "$times True" "$(sort seen | uniq -c | xargs)"
unmount
