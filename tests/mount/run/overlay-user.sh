#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass run overlay of an ordinary user: in a user namespace, with marks in user attributes.
# builds: release debug
. "$(dirname "$0")/../lib.sh"

need_fuse
let_users_mount
need_user_namespaces
chmod 755 "$TEST_DIR"
mkdir -m 777 place home
export HOME=$TEST_DIR/home XDG_STATE_HOME=$TEST_DIR/home/state XDG_RUNTIME_DIR=
user mkdir -p place/dir/deep
user sh -c 'echo text >place/dir/file; echo gone >place/dir/gone; echo old >place/dir/deep/old'
cp -a place/dir before
run () {
    user "$WINDLASS" run overlay "$@"
}
change='echo new >>file; rm gone; rm -r deep; mkdir deep; echo made >deep/made; chmod 600 file'

said=$(run --discard place/dir -- sh -c "cd '$TEST_DIR/place/dir' && $change; cat file; exit 3" \
    2>told)
expect "the status of the command" 3 $?
expect "what the command sees" "$(printf 'text\nnew')" "$said"
diff -r before place/dir || fail "the directory has changed"
expect_match "a change" "^changed  /file \(content, mode 0644 -> 0600\)$" "$(cat told)"
expect_match "a removal" "^removed  /deep/old$" "$(cat told)"
expect_match "an addition" "^added    /deep/made$" "$(cat told)"
expect "nothing is left" "" "$(ls -A place/.windlass-overlays)"

run --keep trial place/dir -- sh -c "cd '$TEST_DIR/place/dir' && $change" 2>told </dev/null
expect_match "it is kept" "the changes are kept as 'trial'" "$(cat told)"
expect_match "the list" "^trial  $TEST_DIR/place/dir  " "$(user "$WINDLASS" overlay status)"
diff -r before place/dir || fail "the directory has changed"

# --- other users ----------------------------------------------------------------------------------

# The view shows them as nobody. Without the view they have their names, which is no change.
if [ "$(id -u)" = 0 ]; then
    user mkdir place/many
    echo text >place/many/old
    chown 1234:1234 place/many/old
    mkdir -m 777 place/many/shared
    user mkdir place/many/acl
    user sh -c 'echo text >place/many/shared/file'
    user sh -c 'echo text >place/many/acl/file'
    setfacl -m u:1234:r,g:1234:rw place/many/acl place/many/acl/file
    setfacl -d -m u:1234:rwx place/many/acl
    run --keep others place/many -- sh -c "cd '$TEST_DIR/place/many' && rm old &&
        echo new >>acl/file && mkdir acl/sub && rm acl/file &&
        echo new >>shared/file" >told 2>&1 </dev/null ||
        fail "changes beside other users' files: $(cat told)"
    expect_match "the changes" "^added +/acl/sub/" "$(cat told)"
    expect_ok user "$WINDLASS" overlay apply others old acl/file
    expect "the directory" "acl shared" "$(ls place/many | xargs)"
    expect "the directory with the ACL" "" "$(ls place/many/acl)"
    expect_ok user "$WINDLASS" overlay apply others /
    expect "a file in another user's directory" "text new" "$(xargs <place/many/shared/file)"
    expect "the owner of that" 0 "$(stat -c %u place/many/shared)"
fi

# --- frozen layers --------------------------------------------------------------------------------

cat >freeze.py <<'EOF_PY'
import os, subprocess, sys
windlass = sys.argv[1]
os.chdir(os.environ["WINDLASS_MOUNT"])
def freeze():
    subprocess.run([windlass, "overlay", "freeze", os.environ["WINDLASS_MOUNT"]], check=True)
fd = os.open("file", os.O_RDWR)
new = os.open("new", os.O_RDWR | os.O_CREAT)
os.write(fd, b"TEXT")
os.symlink("target", "link")
numbers = [os.fstat(fd).st_ino, os.fstat(new).st_ino, os.lstat("link").st_ino]
for word in (b"one", b"two"):
    freeze()
    os.pwrite(fd, word, 0)
    os.write(new, word)
    os.chmod("deep", 0o700 | len(os.listdir("deep")))
    os.rename("link", "link.new")
    os.rename("link.new", "link")
now = [os.stat("file").st_ino, os.stat("new").st_ino, os.lstat("link").st_ino]
assert now == numbers, (now, numbers)
assert open("file").read() == "twoT\n" and open("new").read() == "onetwo"
EOF_PY
chmod 644 freeze.py
run --keep layers place/dir -- python3 "$TEST_DIR/freeze.py" "$WINDLASS" >told 2>&1 </dev/null ||
    fail "a freeze as an ordinary user: $(cat told)"
expect "frozen layers" "$(printf "layer 'layers/1' of it is frozen\nlayer 'layers/0' of it is frozen")" \
    "$(user "$WINDLASS" overlay status layers | grep frozen)"
said=$(run --from layers --discard place/dir -- sh -c "cd '$TEST_DIR/place/dir' && cat file new" \
    2>/dev/null </dev/null)
expect "a view of them" "$(printf 'oneT\none')" "$said"
diff -r before place/dir || fail "the directory has changed"
