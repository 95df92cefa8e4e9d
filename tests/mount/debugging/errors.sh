#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass errors: which translator reported the error first, at which line, and what each
# translator above made of it. Ordinary failures are left out.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"
NONE="no failure since the mount, or since they were cleared; what the kernel itself refuses (mode, \
owner, allow_other) is not here"

errors () {
    "$WINDLASS" errors "$MNT" "$@"
}

# line_of FILE TEXT: of the first one that has it.
line_of () {
    grep -n -m 1 -F -- "$2" "$SOURCE_DIR/$1" | cut -d: -f1
}

echo hello >"$BACK/file"
echo hello >"$BACK/"$'new\nline'
stack "debug/error-gen,failure=100%,error-no=EIO,enable=open" encryption/rot-13 test/errno \
    debug/fault
mount_volfile "$VOL"
expect "none yet" "$NONE" "$(errors)"

# What programs cause all the time.
expect_error 'No such file' cat "$MNT/nothing"
expect_error 'exists' mkdir "$MNT/file"
python3 -c 'import os, sys
try: os.getxattr (sys.argv[1], "user.none")
except OSError: pass' "$MNT/file"
expect "ordinary ones" "$NONE" "$(errors)"

# Said by one, passed by one without a part in it, changed by the next, passed on by the top.
expect_error 'Remote I/O error' cat "$MNT/file"
said=$(errors)
expect_match "what failed" \
    '^[-0-9]+ [:.0-9]+ \+0000 request [0-9]+: open of /file failed: EREMOTEIO \(Remote I/O error\)$' \
    "$said"
expect_match "who asked" "^    process:   cat \([0-9]+\), uid $(id -u)$" "$said"
first=$(line_of xlators/debug/error-gen/errorgen.c 'call_fail (call, error)')
changed=$(line_of tests/xlators/test/errno.c 'op_errno == EIO ? EREMOTEIO')
expect "who said what" \
    "    first:     'error-gen-1' (debug/error-gen) said EIO at errorgen.c:$first (errorgen_any_fop)
    then:      'errno-3' (test/errno) changed EIO to EREMOTEIO at errno.c:$changed (errno_open_cbk)" \
    "$(grep -A1 first: <<<"$said" | sed 's| at [^ ]*/| at |')"
expect_match "the top" \
    "    then:      'fuse' \(mount/fuse\) passed EREMOTEIO on at .*src/fuse/ops/open.c:[0-9]+ \(fuse_open" \
    "$said"
errors --json >json
expect "as JSON" "EREMOTEIO /file ['EIO', 'EREMOTEIO', 'EREMOTEIO']" "$(python3 -c '
import json
e = json.load (open ("json"))["errors"][-1]
print (e["error"], e["path"], [s["answered"] for s in e["steps"]])')"

# A name that a terminal would act on; the same again is counted; cleared.
expect_error 'Remote' cat "$MNT/"$'new\nline'
expect_match "the name" 'open of /new\\x0aline failed' "$(errors)"
python3 - "$MNT/file" <<'PYTHON'
import os, sys
for i in range (1000):
    try: os.open (sys.argv[1], os.O_RDONLY)
    except OSError: pass
PYTHON
expect_match "the same again" \
    'open of /file failed: EREMOTEIO \(Remote I/O error\), 1000 times since' "$(errors)"
expect "cleared" "the recorded failures are deleted" "$(errors --clear)"
expect "none any more" "$NONE" "$(errors)"

# More than are kept.
for i in {1..300}; do echo "$i" >"$BACK/many$i"; done
cat "$MNT"/many* 2>/dev/null
expect "how many are kept" 256 "$(errors | grep -c 'open of /many')"
expect_match "how many aren't" '^44 before those are forgotten$' "$(errors)"
errors --clear >/dev/null

# What a translator turned into success is there on demand, and so are ordinary ones.
echo 'removexattr -> error EPERM' >rules
sed -i 's|subvolumes rot-13-2|subvolumes below|; /^volume errno-3/i volume below\n type debug/fault\n option rules "'"$TEST_DIR"'/rules"\n subvolumes rot-13-2\nend-volume' \
    "$VOL"
unmount
mount_volfile "$VOL"
remove () { python3 -c 'import os, sys; os.removexattr (sys.argv[1], "user.none")' "$MNT/file"; }
expect_ok remove
expect "unheard" "$NONE" "$(errors)"
expect_match "what is recorded" \
    'from now on recorded: notable failures, also those that a translator turned into success' \
    "$(errors --record swallowed)"
expect_ok remove
said=$(errors)
expect_match "it went well" 'removexattr of /file went well all the same$' "$said"
expect_match "who said it" "first:     'below' \(debug/fault\) said EPERM at .*fault.c:[0-9]+" \
    "$said"
expect_match "who didn't" \
    "then:      'errno-3' \(test/errno\) made success of EPERM at .*errno.c:[0-9]+ \(errno_removexattr_cbk\)" \
    "$said"
errors --record all >/dev/null
expect_error 'No such file' cat "$MNT/nothing"
expect_match "an ordinary one" 'lookup of /nothing failed: ENOENT' "$(errors)"
expect_error "--record must be notable, all or swallowed, got 'none'" errors --record none
expect_error "there are json, clear, record=notable" "$WINDLASS" tell "$MNT" - errors rules

# What is no errno becomes EIO, and the log says, once, who answered so and where.
odd () { python3 -c 'import os, sys; os.getxattr (sys.argv[1], "user.odd." + sys.argv[2])' \
    "$MNT/file" "$1"; }
for number in -61 -61 0 4711; do
    expect_error 'Input/output error' odd "$number"
done
said=$(grep 'which is no errno' "$LOG")
expect_match "who, and where" \
    " W .*errno.c:[0-9]+.*translator 'errno-3' \(test/errno\) answered getxattr with op_errno -61, which is no errno" \
    "$said"
expect "once" 1 "$(wc -l <<<"$said")"
