#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The information file of an entry names the process that has removed it, also if several have
# removed in one directory before its entries were made. After a crash the next daemon names a
# process where only one has removed, and otherwise none.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

# who NAME: the program, and whether the process is the one in the file NAME.pid.
who () {
    sed -n 's/^X-Windlass-Program=//p' "$BACK/.Trash-0/info/$1.trashinfo"
    [ "$(sed -n 's/^X-Windlass-Pid=//p' "$BACK/.Trash-0/info/$1.trashinfo")" = "$(cat "$1.pid")" ] ||
        echo "another process: $(cat "$BACK/.Trash-0/info/$1.trashinfo")"
}

# by_rm NAME..., by_perl NAME: removes it, and notes the process.
by_rm () { bash -c 'for f in "${@:2}"; do echo $$ >"$f.pid"; done; cd "$1"; exec rm -r "${@:2}"' - "$MNT" "$@"; }
by_perl () { perl -e 'print $$; unlink $ARGV[0] or rmdir $ARGV[0] or die' "$MNT/$1" >"$1.pid"; }

stack features/trash,settle=1h,keep=deleted:overwritten
sed -i 's/deleted:/deleted,/' "$VOL"
mount_volfile "$VOL"
mkdir "$MNT/tree"
touch "$MNT"/{first,second,third,fourth,over,tree/file}
by_rm first
by_perl second
by_rm third fourth tree
touch "$MNT/new"
bash -c 'echo $$ >over.pid; exec mv "$1/new" "$1/over"' - "$MNT"
# It executes another program after the daemon has looked at it.
touch "$MNT"/{early,late}
python3 - "$MNT" <<'EOF2'
import os, sys, time
for name in 'early', 'late':
    with open(name + '.pid', 'w') as file:
        file.write(str(os.getpid()))
os.unlink(sys.argv[1] + '/early')
time.sleep(0.2)
os.execvp('rm', ['rm', sys.argv[1] + '/late'])
EOF2
asked
expect "one process" rm "$(who first)"
expect "another process" perl "$(who second)"
expect "a third process" "rm rm" "$(who third) $(who fourth)"
expect "a directory" rm "$(who tree)"
expect "a replaced file" mv "$(who over)"
expect "before exec" python3 "$(who early | sed 's/python3.*/python3/')"
expect "after exec" rm "$(who late)"

# After a crash.
mkdir "$MNT/alone" "$MNT/both"
touch "$MNT"/{alone,both}/{one,two}
(cd "$MNT" && rm alone/one alone/two both/one && exec perl -e 'unlink "both/two"')
kill -9 "$DAEMON"
wait_until "! is_running $DAEMON"
umount -l "$MNT"
rm -f "$TEST_DIR/pid"
# The daemon was about to make this entry, and knew who had removed it.
printf '[Trash Info]\nPath=both/two\nDeletionDate=2001-01-01T00:00:00\nX-Windlass-Uid=0\n%s\n' \
    'X-Windlass-Pid=77' >"$BACK/.Trash-0/info/two.trashinfo"
mount_volfile "$VOL"
ls "$MNT" >/dev/null
wait_until '[ ! -e "$BACK/.windlass-trash" ]'
# process PATH: what is known of who removed it.
process () {
    sed -n 's/=.*//; s/^X-Windlass-P//p' "$(grep -l "^Path=$1\$" "$BACK"/.Trash-0/info/*)" | xargs
}
expect "of one process" "id rogram id rogram" "$(process alone/one) $(process alone/two)"
expect "of two processes" "" "$(process both/one)"
expect "what was known" "X-Windlass-Pid=77" "$(grep Pid "$BACK/.Trash-0/info/two.trashinfo")"
expect "its date" "" "$(grep 2001 "$BACK/.Trash-0/info/two.trashinfo")"
expect "its file" yes "$([ -f "$BACK/.Trash-0/files/two" ] && echo yes)"
