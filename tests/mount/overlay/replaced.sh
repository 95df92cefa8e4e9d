#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Directories that a rename replaces in cluster/overlay, while another program looks the names up and
# lists them all the time: each name is there, once. graph/test_overlay_names stops before each
# request of such a rename.
# builds: release debug
. "$(dirname "$0")/lib.sh"

need_root
need_command python3
ROUNDS=$(amount 12 100)
mkdir -p "$UPPER" "$BACK"
for i in $(seq "$ROUNDS"); do
    mkdir "$BACK/name$i"
    echo old | tee "$BACK/name$i/a" >"$BACK/name$i/b"
done
cp -a "$BACK" before
overlay_volfile
mount_volfile "$VOL" --entry-timeout=0 --attribute-timeout=0 --negative-timeout=0

# looks.py MOUNT ROUNDS: until `stop` is there. Prints what is missing, or is there twice.
cat >looks.py <<'EOF_PY'
import os, sys
root, names = sys.argv[1], ["name%d" % i for i in range(1, int(sys.argv[2]) + 1)]
looks = 0
while not os.path.exists("stop") or looks == 0:
    listed = os.listdir(root)
    for name in names:
        if listed.count(name) != 1:
            sys.exit("%s is %d times in the listing" % (name, listed.count(name)))
        os.stat(root + "/" + name)
        looks += 1
EOF_PY
python3 looks.py "$MNT" "$ROUNDS" &
looks=$!

# Each name is replaced when it is empty in the view and has whiteouts, and when it has none.
python3 - "$MNT" "$ROUNDS" <<'EOF_PY' || fail "the renames failed"
import os, sys
root = sys.argv[1]
for i in range(1, int(sys.argv[2]) + 1):
    name = "%s/name%d" % (root, i)
    os.unlink(name + "/a")
    os.unlink(name + "/b")
    os.mkdir(root + "/new")
    os.rename(root + "/new", name)
    os.mkdir(root + "/second")
    open(root + "/second/in", "w").close()
    os.rename(root + "/second", name)
    assert os.listdir(name) == ["in"]
EOF_PY
touch stop
wait $looks || fail "a name was missing or doubled"
expect "each directory" "$ROUNDS" "$(ls "$MNT"/name*/in | wc -l)"
unmount
mount_volfile "$VOL"
expect "each directory after a remount" "$ROUNDS" "$(ls "$MNT"/name*/in | wc -l)"
unmount
diff -r before "$BACK" || fail "the lower has changed"
expect_no_match "the log" "CRITICAL| E \[" "$(cat "$LOG")"
